//! Bytes as JSON strings.

/// What follows the backslash for each byte: 0 is none, `u` is four digits.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = b'u';
        byte += 1;
    }
    table[0x08] = b'b';
    table[b'\t' as usize] = b't';
    table[b'\n' as usize] = b'n';
    table[0x0c] = b'f';
    table[b'\r' as usize] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

/// Writes bytes as a JSON string.
pub(super) fn quote(bytes: &[u8], text: &mut Vec<u8>) {
    text.reserve(bytes.len() + 2);
    text.push(b'"');
    let mut rest = bytes;
    while let Some(index) = first_escaped(rest) {
        let (plain, byte) = (&rest[..index], rest[index]);
        rest = &rest[index + 1..];
        let escape = ESCAPES[usize::from(byte)];
        text.extend_from_slice(plain);
        text.extend_from_slice(&[b'\\', escape]);
        if escape == b'u' {
            let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
            text.extend_from_slice(&[b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    text.extend_from_slice(rest);
    text.push(b'"');
}

/// The first byte that JSON writes with a backslash. Eight bytes are looked at together, as one number: in each byte of
/// `x - n` the highest bit is set where the byte was below `n`, or was above 0x80, which `!x` takes out again.
fn first_escaped(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let zero = |x: u64| x.wrapping_sub(ONES) & !x;
    let (words, _) = bytes.as_chunks::<8>();
    let mut checked = 0;
    for word in words {
        let x = u64::from_ne_bytes(*word);
        let control = x.wrapping_sub(ONES * 0x20) & !x;
        if (control | zero(x ^ (ONES * u64::from(b'"'))) | zero(x ^ (ONES * u64::from(b'\\')))) & HIGH != 0 {
            break;
        }
        checked += 8;
    }
    let found = bytes[checked..].iter().position(|byte| ESCAPES[usize::from(*byte)] != 0)?;
    Some(checked + found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_escaped_at_every_place() {
        for byte in 0..=255_u8 {
            for place in 0..20 {
                let mut bytes = vec![b'x'; 20];
                bytes[place] = byte;
                let is_special = byte < 0x20 || byte == b'"' || byte == b'\\';
                assert_eq!(first_escaped(&bytes), is_special.then_some(place), "{byte} at {place}");
                if let Ok(plain) = std::str::from_utf8(&bytes) {
                    let mut text = Vec::new();
                    quote(&bytes, &mut text);
                    assert_eq!(serde_json::from_slice::<String>(&text).unwrap(), plain);
                }
            }
        }
    }
}
