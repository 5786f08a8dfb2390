//! `crypto.password_hash` and `crypto.password_verify`: Argon2id, off the worker.
//!
//! One computation takes some 20 MiB and tens of milliseconds, so as many run at once as the machine has cores; the
//! others wait, and no worker is held meanwhile.

use std::sync::Arc;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, Params, PasswordHasher, PasswordVerifier};
use mlua::{IntoLuaMulti, Lua, MultiValue, Result, Table, Value};
use tokio::sync::Semaphore;

use crate::environment::api::ProcessHost;
use crate::environment::api::arguments::{bytes, misuse, text};
use crate::environment::api::error::{Failure, Outcome};
use crate::environment::waiting::{Pending, waiting_function};

/// The longest password, in bytes.
const LONGEST: usize = 4096;

/// The costliest hash that is verified: 256 MiB, 32 passes, 16 lanes. A hash names its own cost, and may come from anywhere.
const COSTLIEST: (u32, u32, u32) = (256 * 1024, 32, 16);

/// Keeps the computations of the process to one for each core.
#[derive(Clone)]
pub struct Passwords(Arc<Semaphore>);

impl Default for Passwords {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new(cores)))
    }
}

impl Passwords {
    /// The text to keep of a password: algorithm, cost, salt and hash (`$argon2id$v=19$m=19456,t=2,p=1$…`).
    pub async fn hash(self, password: Vec<u8>) -> Outcome<String> {
        self.compute(move || {
            let hashed: std::result::Result<PasswordHash, _> = Argon2::default().hash_password(&password);
            hashed
                .map(|hash| hash.to_string())
                .map_err(|error| Failure::new("password", format!("the password cannot be hashed: {error}")))
        })
        .await
    }

    /// Whether the password is the one of the text kept.
    pub async fn verify(self, password: Vec<u8>, kept: String) -> Outcome<bool> {
        let params = read(&kept)?;
        let (memory, passes, lanes) = COSTLIEST;
        if params.m_cost() > memory || params.t_cost() > passes || params.p_cost() > lanes {
            return Err(Failure::new("invalid-hash", "the hash asks for more memory or time than is allowed"));
        }
        self.compute(move || {
            let hash = PasswordHash::new(&kept).map_err(invalid)?;
            match Argon2::default().verify_password(&password, &hash) {
                Ok(()) => Ok(true),
                Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
                Err(error) => Err(invalid(error)),
            }
        })
        .await
    }

    /// Runs a computation on a thread for such work, when a core is free for it.
    async fn compute<T: Send + 'static>(self, work: impl FnOnce() -> Outcome<T> + Send + 'static) -> Outcome<T> {
        let stopped = |_| Failure::new("password", "the server is stopping");
        let permit = self.0.acquire_owned().await.map_err(stopped)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(permit);
            result
        });
        done.await.map_err(|error| Failure::new("password", format!("the computation broke off: {error}")))?
    }
}

/// Adds the functions to `crypto`.
///
/// # Errors
/// Lua has no memory left.
pub fn install(lua: &Lua, module: &Table, process: &Arc<ProcessHost>) -> Result<()> {
    let host = Arc::clone(process);
    let hash = move |lua: &Lua, arguments: MultiValue| -> Result<Pending<Outcome<String>>> {
        let password: Value = lua.unpack_multi(arguments)?;
        let password = password_of("crypto.password_hash", &password)?;
        Ok(Box::pin(host.passwords.clone().hash(password)))
    };
    module.raw_set("password_hash", waiting_function(lua, hash, finish)?)?;
    let host = Arc::clone(process);
    let verify = move |lua: &Lua, arguments: MultiValue| -> Result<Pending<Outcome<bool>>> {
        let (password, kept): (Value, Value) = lua.unpack_multi(arguments)?;
        let password = password_of("crypto.password_verify", &password)?;
        let kept = text("crypto.password_verify", "hash", &kept)?.to_owned();
        Ok(Box::pin(host.passwords.clone().verify(password, kept)))
    };
    module.raw_set("password_verify", waiting_function(lua, verify, finish)?)
}

fn finish<T: mlua::IntoLua>(lua: &Lua, outcome: Outcome<T>) -> Result<MultiValue> {
    outcome.into_lua_multi(lua)
}

fn password_of(function: &str, password: &Value) -> Result<Vec<u8>> {
    let password = bytes(function, "password", password)?;
    if password.len() > LONGEST {
        let length = password.len();
        return Err(misuse(function, format_args!("password must be at most {LONGEST} bytes long, not {length}")));
    }
    Ok(password.to_vec())
}

fn read(kept: &str) -> Outcome<Params> {
    let hash = PasswordHash::new(kept).map_err(invalid)?;
    if !hash.algorithm.as_str().starts_with("argon2") || hash.hash.is_none() || hash.salt.is_none() {
        return Err(invalid("it is not one of argon2"));
    }
    Params::try_from(&hash).map_err(invalid)
}

fn invalid(why: impl std::fmt::Display) -> Failure {
    Failure::new("invalid-hash", format!("not a password hash: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hashes_are_salted_and_verified() {
        let passwords = Passwords::default();
        let first = passwords.clone().hash(b"hunter42".to_vec()).await.unwrap();
        let second = passwords.clone().hash(b"hunter42".to_vec()).await.unwrap();
        assert!(first.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{first}");
        assert_ne!(first, second);
        assert_eq!(passwords.clone().verify(b"hunter42".to_vec(), first.clone()).await, Ok(true));
        assert_eq!(passwords.clone().verify(b"hunter43".to_vec(), first.clone()).await, Ok(false));
        assert_eq!(passwords.verify(b"".to_vec(), first).await, Ok(false));
    }

    #[tokio::test]
    async fn a_hash_of_the_reference_implementation_is_verified() {
        // echo -n password | argon2 somesalt -t 2 -m 16 -p 1 -id
        let kept = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
        let passwords = Passwords::default();
        assert_eq!(passwords.clone().verify(b"password".to_vec(), kept.to_owned()).await, Ok(true));
        assert_eq!(passwords.verify(b"Password".to_vec(), kept.to_owned()).await, Ok(false));
    }

    #[tokio::test]
    async fn what_is_no_hash_or_costs_too_much_is_refused() {
        for kept in [
            "",
            "hunter42",
            "$argon2id$v=19$m=19456,t=2,p=1",
            "$2b$12$abcdefghijklmnopqrstuv",
            "$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E",
            "$argon2id$v=19$m=4294967295,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "$argon2id$v=19$m=8,t=4294967295,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        ] {
            let refused = Passwords::default().verify(b"x".to_vec(), kept.to_owned()).await;
            assert_eq!(refused.map_err(|failure| failure.code), Err("invalid-hash"), "{kept}");
        }
    }

    #[tokio::test]
    async fn waits_its_turn_and_can_be_abandoned() {
        let passwords = Passwords(Arc::new(Semaphore::new(1)));
        let held = passwords.0.clone().acquire_owned().await.unwrap();
        let mut waiting = Box::pin(passwords.clone().hash(b"x".to_vec()));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        drop(waiting);
        drop(held);
        assert!(passwords.hash(b"x".to_vec()).await.is_ok());
    }
}
