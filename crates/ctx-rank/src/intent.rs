//! What a question asks for.

use crate::Query;

/// What a question asks for besides texts with its words. Only [typed](Query::typed) questions ask
/// for anything, and one may ask for several things: one about the project also asks for its
/// `README` as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Intent {
    /// Files that it mentions, and nothing specific in them: `what does CONTRIBUTING.md say?`. A
    /// file without an extension has no small letter: `README`. A question about the project asks
    /// for its `README`, and one about its news for a changelog. Such a file is shown from its
    /// start.
    Files,
    /// Files that match its [patterns](crate::Mentions::patterns), and nothing in them:
    /// `which *.toml files are there?`. A little of each is shown before more of any.
    Patterns,
    /// The project as a whole, or how to begin with it: `what does this repo do?`, `overview`,
    /// `how do I get started`. The `README` answers that, which is then among the
    /// [names of files](crate::Mentions::file_names). The project is known by name after
    /// [`in_project`](Query::in_project).
    Project,
    /// What is new in the last release, without a version: `what is new?`. A changelog says that
    /// first, and its names are among the [names of files](crate::Mentions::file_names).
    News,
    /// What became of something: it has a version, asks for a changelog or for the news, or when or
    /// in which release something was changed. Only for such a question a changelog, which has
    /// words about everything, may lead as a document that explains the project does.
    Changes,
    /// A definition: it is only the beginning of one (`def get`, `pub fn layer<L>(self`,
    /// `class Session`), or asks where a name is defined. Its only
    /// [name](crate::Mentions::names) is then the defined one, which is found however many
    /// definitions it has.
    Definition,
    /// The place of something in the code: `where is the limit checked`. Not what the asker may do
    /// somewhere: `where do I set the limit`, `where can options be put`.
    Place,
    /// The users of one or two names: `callers of parse_header`, `who calls parse`,
    /// `where is Session used`, `references to MAX_SIZE`. They are shown behind the definition.
    Users,
}

impl Query {
    /// Whether it has this `intent`. O(words) at most.
    pub fn asks_for(&self, intent: Intent) -> bool {
        match intent {
            Intent::Files => self.is_of_files_alone(),
            Intent::Patterns => self.is_of_patterns_alone(),
            Intent::Project => self.is_of_project(),
            Intent::News => self.is_of_news(),
            Intent::Changes => self.is_of_changes(),
            Intent::Definition => self.is_definition,
            Intent::Place => self.is_of_place(),
            Intent::Users => self.asks_for_users(),
        }
    }

    fn is_of_place(&self) -> bool {
        const ASKER: [&str; 9] = [
            "can", "could", "i", "may", "must", "my", "should", "we", "you",
        ];
        let is = |word: &str, it: &str| word.eq_ignore_ascii_case(it);
        let mut words = self.words();
        self.typed.is_some()
            && words.next().is_some_and(|it| is(it, "where"))
            && words.next().is_some()
            && words.all(|word| !ASKER.iter().any(|it| is(word, it)))
    }
}
