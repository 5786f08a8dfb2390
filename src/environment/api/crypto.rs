//! `crypto`: digests, message authentication, random bytes and passwords.

use std::sync::Arc;

use ::base64::Engine;
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use mlua::{Lua, LuaString, Result, Value};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq;

use crate::environment::api::arguments::{bytes, choice, misuse, whole};
use crate::environment::api::{Host, Module, base64, password};

/// The module.
pub const MODULE: Module = Module { name: "crypto", install };

/// The most random bytes of one call.
const MOST_RANDOM: i64 = 1 << 16;

/// How a digest is computed, with and without a key.
#[derive(Clone, Copy)]
struct Algorithm {
    hash: fn(&[u8]) -> Vec<u8>,
    hmac: fn(&[u8], &[u8]) -> Option<Vec<u8>>,
}

/// An algorithm of one digest type; the bounds of `Hmac` say the same in thirty lines.
macro_rules! algorithm {
    ($digest:ty) => {
        Algorithm {
            hash: |data| <$digest>::digest(data).to_vec(),
            hmac: |key, data| {
                let mut mac = Hmac::<$digest>::new_from_slice(key).ok()?;
                mac.update(data);
                Some(mac.finalize().into_bytes().to_vec())
            },
        }
    };
}

const ALGORITHMS: [(&str, Algorithm); 6] = [
    ("sha256", algorithm!(Sha256)),
    ("sha512", algorithm!(Sha512)),
    ("sha384", algorithm!(Sha384)),
    ("sha224", algorithm!(Sha224)),
    ("sha1", algorithm!(Sha1)),
    ("md5", algorithm!(Md5)),
];

/// Writes bytes as text.
type Encode = fn(&[u8]) -> Vec<u8>;

/// How bytes are written.
const ENCODINGS: [(&str, Encode); 4] = [
    ("hex", |bytes| hex::encode(bytes).into_bytes()),
    ("base64", |bytes| base64::PLAIN.encode(bytes).into_bytes()),
    ("base64url", |bytes| base64::URL.encode(bytes).into_bytes()),
    ("raw", |bytes| bytes.to_vec()),
];

fn install(lua: &Lua, host: &Arc<Host>) -> Result<Value> {
    let module = lua.create_table()?;
    module.raw_set("hash", lua.create_function(hash)?)?;
    module.raw_set("hmac", lua.create_function(hmac)?)?;
    module.raw_set("equal", lua.create_function(equal)?)?;
    module.raw_set("random", lua.create_function(random)?)?;
    password::install(lua, &module, &host.process)?;
    Ok(Value::Table(module))
}

/// Writes bytes in the encoding of the last argument; hexadecimal when it is left out.
fn encoded(lua: &Lua, function: &str, encoding: &Value, data: &[u8]) -> Result<LuaString> {
    let encode = match encoding {
        Value::Nil => ENCODINGS[0].1,
        name => choice(function, "encoding", name, &ENCODINGS)?,
    };
    lua.create_string(encode(data))
}

fn hash(lua: &Lua, (algorithm, data, encoding): (Value, Value, Value)) -> Result<LuaString> {
    let algorithm = choice("crypto.hash", "algorithm", &algorithm, &ALGORITHMS)?;
    let data = bytes("crypto.hash", "data", &data)?;
    encoded(lua, "crypto.hash", &encoding, &(algorithm.hash)(&data))
}

fn hmac(lua: &Lua, (algorithm, key, data, encoding): (Value, Value, Value, Value)) -> Result<LuaString> {
    let algorithm = choice("crypto.hmac", "algorithm", &algorithm, &ALGORITHMS)?;
    let key = bytes("crypto.hmac", "key", &key)?;
    let data = bytes("crypto.hmac", "data", &data)?;
    let code = (algorithm.hmac)(&key, &data).ok_or_else(|| misuse("crypto.hmac", "the key cannot be used"))?;
    encoded(lua, "crypto.hmac", &encoding, &code)
}

/// In a time that tells nothing of where they differ; it does tell whether they are equally long.
fn equal(_: &Lua, (left, right): (Value, Value)) -> Result<bool> {
    let left = bytes("crypto.equal", "the first argument", &left)?;
    let right = bytes("crypto.equal", "the second argument", &right)?;
    Ok(left.ct_eq(&right).into())
}

fn random(lua: &Lua, (count, encoding): (Value, Value)) -> Result<LuaString> {
    let count = whole("crypto.random", "count", &count, 1..=MOST_RANDOM)?;
    let mut random = vec![0; usize::try_from(count).unwrap_or_default()];
    getrandom::fill(&mut random)
        .map_err(|error| misuse("crypto.random", format_args!("the system has no random bytes: {error}")))?;
    encoded(lua, "crypto.random", &encoding, &random)
}

#[cfg(test)]
mod tests {
    use crate::environment::api::testing::{check, state};

    #[test]
    fn known_answers_of_digests() {
        check(
            &[super::MODULE],
            &[
                // RFC 1321 and FIPS 180.
                ("crypto.hash('md5', 'abc')", "900150983cd24fb0d6963f7d28e17f72"),
                ("crypto.hash('sha1', 'abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
                ("crypto.hash('sha224', 'abc')", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
                ("crypto.hash('sha256', 'abc')", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
                ("crypto.hash('sha256', '')", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
                (
                    "crypto.hash('sha384', 'abc')",
                    "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
                ),
                (
                    "crypto.hash('sha512', 'abc')",
                    "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
                ),
                ("crypto.hash('sha256', 'abc', 'base64')", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="),
                ("crypto.hash('sha256', 'abc', 'base64url')", "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"),
                ("#crypto.hash('sha256', 'abc', 'raw')", "32"),
                ("crypto.hash('md5', buffer.fromstring('abc'))", "900150983cd24fb0d6963f7d28e17f72"),
            ],
        );
    }

    #[test]
    fn known_answers_of_codes() {
        check(
            &[super::MODULE],
            &[
                // RFC 2202 and RFC 4231, test cases 1, 2 and 6 (a key longer than a block).
                ("crypto.hmac('md5', string.rep('\\11', 16), 'Hi There')", "9294727a3638bb1c13f48ef8158bfc9d"),
                (
                    "crypto.hmac('sha1', 'Jefe', 'what do ya want for nothing?')",
                    "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
                ),
                (
                    "crypto.hmac('sha256', 'Jefe', 'what do ya want for nothing?')",
                    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
                ),
                (
                    "crypto.hmac('sha256', string.rep('\\170', 131), 'Test Using Larger Than Block-Size Key - Hash Key First')",
                    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
                ),
                ("crypto.hmac('sha256', '', '', 'base64')", "thNnmggU2ex3L5XXeMNfxf8Wl8STcVZTxscSFEKSxa0="),
            ],
        );
    }

    #[test]
    fn equality() {
        check(
            &[super::MODULE],
            &[
                ("crypto.equal('abc', 'abc')", "true"),
                ("crypto.equal('abc', 'abd')", "false"),
                ("crypto.equal('abc', 'ab')", "false"),
                ("crypto.equal('', '')", "true"),
                ("crypto.equal('a\\0b', 'a\\0c')", "false"),
                ("crypto.equal('a', nil)", "raises crypto.equal: the second argument must be a string, not nil"),
            ],
        );
    }

    #[test]
    fn random_bytes() {
        check(
            &[super::MODULE],
            &[
                ("#crypto.random(16)", "32"),
                ("#crypto.random(16, 'raw')", "16"),
                ("#crypto.random(32, 'base64url')", "43"),
                ("crypto.random(16) == crypto.random(16)", "false"),
                ("#crypto.random(65536, 'raw')", "65536"),
                ("crypto.random(0)", "raises crypto.random: count must be a whole number from 1 to 65536, not 0"),
                (
                    "crypto.random(1e18)",
                    "raises crypto.random: count must be a whole number from 1 to 65536, not 1000000000000000000",
                ),
                ("crypto.random(1.5)", "raises crypto.random: count must be a whole number from 1 to 65536, not 1.5"),
                ("crypto.random()", "raises crypto.random: count must be a whole number, not nil"),
            ],
        );
    }

    #[test]
    fn mistakes() {
        check(
            &[super::MODULE],
            &[
                (
                    "crypto.hash('sha265', '')",
                    "raises crypto.hash: unknown algorithm \"sha265\"; did you mean \"sha256\"?",
                ),
                (
                    "crypto.hash('zebra', '')",
                    "raises crypto.hash: unknown algorithm \"zebra\"; known: sha256, sha512, sha384, sha224, sha1, md5",
                ),
                ("crypto.hash('md5')", "raises crypto.hash: data must be a string, not nil"),
                (
                    "crypto.hash('md5', 'x', 'hax')",
                    "raises crypto.hash: unknown encoding \"hax\"; did you mean \"hex\"?",
                ),
                ("crypto.hash('md5', 'x', {})", "raises crypto.hash: encoding must be a string, not a table"),
                ("crypto.hmac('md5', nil, 'x')", "raises crypto.hmac: key must be a string, not nil"),
            ],
        );
        assert!(state(&[super::MODULE]).load("crypto.hash('md5', string.rep('x', 2^22))").eval::<String>().is_ok());
    }
}
