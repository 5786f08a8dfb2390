//! placeholder until merged
pub struct SyntaxError { pub line: u32, pub message: String }
pub fn compile(_t:&str,_o:&str)->Result<Vec<u8>,SyntaxError>{todo!()}
