//! stand-in
use mlua::{Lua, MultiValue};
use crate::exchange::*;
pub(super) fn read(_lua: &Lua, values: MultiValue) -> Result<Answer, String> {
    let text = values.iter().map(|v| v.to_string().unwrap_or_default()).collect::<Vec<_>>().join(",");
    Ok(Answer::Response(Response { status: 200, content_type: ContentType::Text, headers: vec![], body: text.into() }))
}
