//! The problem: the items, their weights and values, and the capacity.

use crate::BudgetError;

/// The largest value of a choice or a feature. Sums and products of such numbers with any weight
/// are finite.
const MAX_VALUE: f64 = 1e100;

/// The weights that may be spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// The selection weighs at most this much.
    pub safe: u64,
    /// Any other selection that would fit weighs at most this much; upper bounds hold up to it. It
    /// differs from `safe` if counts are rounded and weights are not.
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
    /// Its weight, in the counter's additive unit.
    pub weight: u64,
    /// Its value: finite, not negative.
    pub value: f64,
}

/// A fact that an item shows to a reader: a term of the question, a symbol, a line.
///
/// Features are nested by construction: if a choice shows one, every choice before it does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Feature {
    /// Its identity: items that show the same fact use the same number.
    pub id: u32,
    /// Its value: finite, not negative. If several chosen items show it, it counts once, with the
    /// largest of their weights.
    pub weight: f64,
    /// The last choice that still shows it.
    pub until: u32,
}

/// A thing that may be shown, in one of several ways or not at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    /// The ways to show it, from the most to the least information.
    pub choices: Vec<Choice>,
    /// The group whose heading must be paid for, too.
    pub group: Option<u32>,
    /// Whether it must be shown, in some way.
    pub pinned: bool,
    /// Its class, which only [`Density`](ctx_model::Selection::Density) uses. Once that policy has
    /// chosen six items, and more than 70 % of the chosen ones are of one class, new items of that
    /// class wait until those of all other classes have been tried, and so do better ways for items
    /// already chosen. If all items are of one class, none waits.
    pub class: u32,
    /// The largest weight of a choice that may be taken. A pinned item's cheapest choice is always
    /// allowed.
    pub cap: Option<u64>,
    /// The features it shows, for [`Settings::diversity`](field@crate::Settings::diversity). A
    /// feature that fuller choices show better has several entries with the same id, one per
    /// weight.
    pub features: Vec<Feature>,
}

/// The items to choose from, and the capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problem {
    /// The items, in the order of preference that `InOrder` follows.
    pub items: Vec<Item>,
    /// The weight of each group's heading, paid once when any of its items is chosen.
    pub groups: Vec<u64>,
    /// The weight that may be spent.
    pub capacity: Capacity,
    /// The most items to choose; `Some(0)` chooses none.
    pub max_items: Option<usize>,
}

impl Item {
    /// Makes an item that may be shown in these ways.
    pub fn new(choices: Vec<Choice>) -> Self {
        Item {
            choices,
            ..Item::default()
        }
    }

    /// Checks the rules that field types do not enforce; the error states what is wrong.
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
    /// Refuses invalid numbers, naming the item.
    pub(crate) fn check(&self) -> Result<(), BudgetError> {
        for (index, item) in self.items.iter().enumerate() {
            item.check(self.groups.len())
                .map_err(|what| BudgetError::Invalid { item: index, what })?;
        }
        Ok(())
    }
}
