//! The places of nodes among their siblings, which decide whether a pattern waits for later ones.

use tree_sitter::{Node, TreeCursor};

use crate::patterns::Field;

/// A node and its place among its siblings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'t> {
    pub(crate) node: Node<'t>,
    pub(crate) kind: u16,
    pub(crate) field: Option<u16>,
    pub(crate) is_named: bool,
    pub(crate) later: Later,
    /// Whether a later sibling is in the same field.
    pub(crate) field_goes_on: bool,
    /// The same, if the field is that of hidden nodes.
    pub(crate) hidden_goes_on: bool,
}

impl<'t> Place<'t> {
    /// The place of a node as if it had no siblings.
    pub(crate) fn alone(node: Node<'t>) -> Self {
        Place {
            node,
            kind: node.kind_id(),
            field: None,
            is_named: node.is_named(),
            later: Later::Nothing,
            field_goes_on: false,
            hidden_goes_on: false,
        }
    }

    /// Whether a later sibling may be in the same field, which is `field`.
    pub(crate) fn goes_on(&self, field: Field) -> bool {
        match field {
            Field::Hidden(_) => self.hidden_goes_on,
            Field::Any | Field::Of(_) => self.field_goes_on,
        }
    }
}

/// What follows a node in the node around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Later {
    Nothing,
    Tokens,
    Named,
}

/// Puts the children of `node` into `places`. O(children · fields).
pub(crate) fn places_in<'t>(
    cursor: &mut TreeCursor<'t>,
    node: Node<'t>,
    places: &mut Vec<Place<'t>>,
) {
    places.clear();
    cursor.reset(node);
    let mut has_more = cursor.goto_first_child();
    // Whether a token precedes, or is, the node, of its neighbours in the same field.
    let (mut run, mut has_token) = (None, false);
    while has_more {
        let node = cursor.node();
        let field = cursor.field_id().map(u16::from);
        let is_named = node.is_named();
        if run != field && !is_between(run, node, field) {
            (run, has_token) = (field, false);
        }
        has_token |= !is_named && field.is_some();
        places.push(Place {
            field,
            hidden_goes_on: !has_token,
            ..Place::alone(node)
        });
        has_more = cursor.goto_next_sibling();
    }
    find_later(places);
}

/// Whether `node` is a comment or an error that does not end a run of neighbours in one field.
fn is_between(run: Option<u16>, node: Node<'_>, field: Option<u16>) -> bool {
    run.is_some() && field.is_none() && node.is_extra()
}

/// Tells each of `places` what follows it. Of neighbours in one field, `hidden_goes_on` says
/// whether none of them so far is a token: if hidden nodes have the field, the first token begins
/// one, and the library sees what is behind that, but not what else is in it.
fn find_later(places: &mut [Place<'_>]) {
    let mut later = Later::Nothing;
    let mut fields = Vec::new();
    let mut run = None;
    for place in places.iter_mut().rev() {
        place.later = later;
        if place.is_named {
            later = Later::Named;
        } else if later == Later::Nothing {
            later = Later::Tokens;
        }
        let is_same = run.is_some() && run == place.field;
        if !is_same && !is_between(run, place.node, place.field) {
            fields.extend(run.filter(|it| !fields.contains(it)));
            run = place.field;
        }
        if let Some(field) = place.field {
            let goes_on = fields.contains(&field);
            place.field_goes_on = goes_on || is_same;
            place.hidden_goes_on = goes_on || (is_same && place.hidden_goes_on);
        }
    }
}
