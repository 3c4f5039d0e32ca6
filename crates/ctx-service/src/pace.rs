//! How far work on one text goes before it asks again whether anybody waits for it.

/// So many bytes.
pub(crate) const STEP: usize = 256 << 10;

/// Has work on one text ask at its beginning and every [`STEP`] whether anybody waits.
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

    /// Whether to go on at `at`, which never gets less.
    pub(crate) fn goes_on(&mut self, at: usize) -> bool {
        if at < self.next {
            return true;
        }
        self.next = at + STEP;
        (self.is_awaited)()
    }
}
