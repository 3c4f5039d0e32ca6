//! Names that nobody can guess.

use crate::backend::BackendError;

/// 128 random bits, in hexadecimal.
pub(crate) fn random_id() -> Result<String, BackendError> {
    Ok(format!("{:032x}", u128::from_be_bytes(random()?)))
}

/// 64 random bits.
pub(crate) fn random_number() -> Result<u64, BackendError> {
    Ok(u64::from_be_bytes(random()?))
}

fn random<const N: usize>() -> Result<[u8; N], BackendError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| BackendError::failed("make an id", error.to_string()))?;
    Ok(bytes)
}
