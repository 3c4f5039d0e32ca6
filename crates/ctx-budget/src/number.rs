//! Conversions and sums with known rounding errors.

/// The nearest floating-point number.
#[expect(
    clippy::cast_precision_loss,
    reason = "off by at most half a unit in the last place, which every bound's margin covers"
)]
pub(crate) const fn real(n: u64) -> f64 {
    n as f64
}

/// The nearest floating-point number.
pub(crate) const fn count(n: usize) -> f64 {
    real(n as u64)
}

/// A sum that keeps what each addition rounds away (Neumaier 1974). Its error is a few units in the
/// last place of the sum of magnitudes, for any number of terms.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        self.lost += if self.sum.abs() >= term.abs() {
            (self.sum - sum) + term
        } else {
            (term - sum) + self.sum
        };
        self.sum = sum;
    }

    pub(crate) fn get(self) -> f64 {
        self.sum + self.lost
    }
}

impl Extend<f64> for Sum {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, terms: I) {
        for term in terms {
            self.add(term);
        }
    }
}

/// The sum of `terms`, in their order.
pub(crate) fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let mut total = Sum::default();
    total.extend(terms);
    total.get()
}
