//! The limit on open files, connections and folders of the process, and how it is shared out.

/// Descriptors per open folder of an owner: fifteen, and some more while it is written.
#[cfg(any(test, feature = "embedded"))]
const OF_FOLDER: usize = 16;
/// Descriptors set aside for files that running requests read and write.
const AT_WORK: usize = 64;
/// The limit to ask for: more than the defaults need, and granted by every system that sets no
/// bound of its own.
#[cfg(unix)]
const ENOUGH: u64 = 8_192;

/// Raises the soft limit on open files as far as allowed, up to some thousands. The limit that a
/// shell or a service manager sets, often 1,024, is less than the folders of 64 owners and 1,024
/// connections need. A server program should call it before it opens a store. Only Unix has such a
/// limit.
///
/// If the system refuses, the limit stays as it is: the embedded store and
/// [`Server`](crate::Server) stay within it.
pub fn raise_descriptors() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};

        let mut limit = getrlimit(Resource::Nofile);
        let most = limit.maximum.map_or(ENOUGH, |it| it.min(ENOUGH));
        if limit.current.is_some_and(|it| it < most) {
            limit.current = Some(most);
            if let Err(error) = setrlimit(Resource::Nofile, limit) {
                let cause = crate::cause::cause(&std::io::Error::from(error));
                tracing::warn!(cause, "no more files can be opened at once");
            }
        }
    }
}

/// How many descriptors the process may have; `usize::MAX` if there is no limit.
pub(crate) fn allowed() -> usize {
    #[cfg(unix)]
    {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        let limit = limit.current.and_then(|it| usize::try_from(it).ok());
        limit.unwrap_or(usize::MAX)
    }
    #[cfg(not(unix))]
    usize::MAX
}

/// How many of `wanted` folders can be open: they get half of `allowed`.
#[cfg(any(test, feature = "embedded"))]
pub(crate) fn folders(wanted: usize, allowed: usize) -> usize {
    wanted.min(allowed / 2 / OF_FOLDER).max(1)
}

/// How many of `wanted` connections can be open beside the folders.
pub(crate) fn connections(wanted: usize, allowed: usize) -> usize {
    wanted.min((allowed / 2).saturating_sub(AT_WORK)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_connections_leave_room_for_work() {
        for allowed in [256, 1_024, 2_000, 4_096, 65_536, usize::MAX] {
            let (folders, connections) = (folders(64, allowed), connections(1_024, allowed));
            let taken = folders * OF_FOLDER + connections + AT_WORK;
            assert!(taken <= allowed, "{taken} of {allowed}");
        }
        for allowed in [4_096, usize::MAX] {
            assert_eq!(
                (folders(64, allowed), connections(1_024, allowed)),
                (64, 1_024)
            );
        }
        assert_eq!((folders(64, 1_024), connections(1_024, 1_024)), (32, 448));
        assert_eq!((folders(64, 10), connections(1_024, 10)), (1, 1));
    }
}
