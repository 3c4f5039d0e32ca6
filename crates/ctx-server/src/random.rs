//! Random ids that cannot be guessed.

use crate::backend::BackendError;

/// 128 random bits, in hexadecimal.
pub(crate) fn random_id() -> Result<String, BackendError> {
    Ok(format!("{:032x}", u128::from_be_bytes(of_id()?)))
}

/// 64 random bits.
#[cfg(feature = "embedded")]
pub(crate) fn random_number() -> Result<u64, BackendError> {
    Ok(u64::from_be_bytes(of_id()?))
}

/// Random bytes from the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

fn of_id<const N: usize>() -> Result<[u8; N], BackendError> {
    random().map_err(|error| BackendError::failed("make an id", error.to_string()))
}
