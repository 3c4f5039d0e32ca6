//! The question: what there is, what it costs, and what may be spent.

use crate::BudgetError;

/// The largest value a choice or a feature may have. Sums and products of such numbers with any
/// weight are finite.
const MAX_VALUE: f64 = 1e100;

/// The weights that may be spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// What is chosen weighs at most this much.
    pub safe: u64,
    /// Whatever could be chosen by other means weighs at most this much. Upper bounds hold up to
    /// it. It differs from `safe` where a count rounds what weights do not.
    pub loose: u64,
}

impl Capacity {
    /// A capacity in a unit that does not round.
    pub const fn exact(weight: u64) -> Self {
        Capacity {
            safe: weight,
            loose: weight,
        }
    }
}

/// One way to show an item.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Choice {
    /// What it costs, in the counter's additive unit.
    pub weight: u64,
    /// What it is worth: finite, not negative.
    pub value: f64,
}

/// Something an item tells a reader: a term of the question, a symbol, a line.
///
/// Features are nested by construction: what a choice shows, every choice before it shows too.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Feature {
    /// What it is. Items that show the same thing use the same number.
    pub id: u32,
    /// What it is worth to be told it: finite, not negative. Told by several chosen items, it
    /// counts once, as the largest of their weights.
    pub weight: f64,
    /// The last choice that still shows it.
    pub until: u32,
}

/// Something that may be shown, in one of several ways or not at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    /// The ways to show it, from the most to the least information.
    pub choices: Vec<Choice>,
    /// The group whose heading must be paid for as well.
    pub group: Option<u32>,
    /// Whether it must be shown, in some way.
    pub pinned: bool,
    /// What sort of thing it is. Once [`Density`](ctx_model::Selection::Density) has chosen six items, more than 70 % of
    /// them of one class, new items of that class wait until those of all others have been looked at, and with them
    /// whatever would show a chosen item better. Where all items are of one class none waits. The other policies do not look
    /// at it.
    pub class: u32,
    /// Choices above this weight are not taken. A pinned item's cheapest choice always may be.
    pub cap: Option<u64>,
    /// What it tells, for [`Settings::diversity`](field@crate::Settings::diversity). What fuller choices tell better has an
    /// entry for each weight, of one number.
    pub features: Vec<Feature>,
}

/// What there is to choose from, and what may be spent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problem {
    /// What may be shown, in the order of preference that `InOrder` follows.
    pub items: Vec<Item>,
    /// The weight of each group's heading, paid once when any of its items is chosen.
    pub groups: Vec<u64>,
    /// What may be spent.
    pub capacity: Capacity,
    /// At most so many items; `Some(0)` is none at all.
    pub max_items: Option<usize>,
}

impl Item {
    /// An item that may be shown in these ways.
    pub fn new(choices: Vec<Choice>) -> Self {
        Item {
            choices,
            ..Item::default()
        }
    }

    /// Checks what the field types do not; the answer is what is wrong.
    fn check(&self, groups: usize) -> Result<(), &'static str> {
        if self.pinned && self.choices.is_empty() {
            return Err("it is pinned and has no choices");
        }
        if self.group.is_some_and(|group| group as usize >= groups) {
            return Err("its group does not exist");
        }
        for choice in &self.choices {
            check_value(choice.value)?;
        }
        for feature in &self.features {
            check_value(feature.weight)?;
        }
        Ok(())
    }
}

fn check_value(value: f64) -> Result<(), &'static str> {
    if value.is_nan() {
        Err("a value is not a number")
    } else if value < 0.0 {
        Err("a value is negative")
    } else if value > MAX_VALUE {
        Err("a value is above 1e100")
    } else {
        Ok(())
    }
}

impl Problem {
    /// Refuses numbers that make no sense, naming the item.
    pub(crate) fn check(&self) -> Result<(), BudgetError> {
        for (index, item) in self.items.iter().enumerate() {
            item.check(self.groups.len())
                .map_err(|what| BudgetError::Invalid { item: index, what })?;
        }
        Ok(())
    }
}
