//! How many files, connections and folders the process may have open at once: what the system lets it.

/// An owner's folder that is open has fifteen descriptors, and some more while it is written.
#[cfg(any(test, feature = "embedded"))]
const OF_FOLDER: usize = 16;
/// What is read and written for requests that run.
const AT_WORK: usize = 64;
/// More than the defaults ask for, and what every system gives where it sets no bound.
#[cfg(unix)]
const ENOUGH: u64 = 8_192;

/// Has the system let the process open as many files as it is allowed to, up to some thousands: what a shell or a service manager
/// lets it begin with, often 1,024, is less than the folders of 64 owners and 1,024 connections take. For a program that is a
/// server, before it opens a store. Elsewhere than on Unix there is no such bound.
///
/// Where the system does not let it, it stays as it is: the embedded store and [`Server`](crate::Server) keep within
/// what there is.
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

/// How many descriptors the process may have; more than can be counted, where nothing bounds them.
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

/// Of `wanted` folders so many can be open: half of what is `allowed` is theirs.
#[cfg(any(test, feature = "embedded"))]
pub(crate) fn folders(wanted: usize, allowed: usize) -> usize {
    wanted.min(allowed / 2 / OF_FOLDER).max(1)
}

/// Of `wanted` connections so many can be open beside the folders.
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
