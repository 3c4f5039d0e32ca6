//! How far work on one text proceeds before it checks again whether the request was cancelled.

/// The distance between checks, in bytes.
pub(crate) const STEP: usize = 256 << 10;

/// Makes work on one text check at its beginning and every [`STEP`] bytes whether it is still
/// wanted.
pub(crate) struct Pace<'a> {
    is_awaited: &'a dyn Fn() -> bool,
    next: usize,
}

impl<'a> Pace<'a> {
    pub(crate) fn of(is_awaited: &'a dyn Fn() -> bool) -> Self {
        Pace {
            is_awaited,
            next: 0,
        }
    }

    /// Whether to continue at `at`, which must not decrease.
    pub(crate) fn goes_on(&mut self, at: usize) -> bool {
        if at < self.next {
            return true;
        }
        self.next = at + STEP;
        (self.is_awaited)()
    }
}
