use super::*;
use std::fs;

fn names(folder: &Path) -> Vec<String> {
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    write(&path, |out| out.write_all(b"old")).unwrap();
    let error = write(&path, |out| {
        out.write_all(&[b'x'; 100_000])?;
        Err(io::Error::other("the disk is full"))
    });
    let expected = format!("cannot write {}: the disk is full", path.display());
    assert_eq!(error.unwrap_err().to_string(), expected);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["a.csv"]);
    write(&path, |out| out.write_all(b"new")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(folder.path()), ["a.csv"]);
}

#[test]
fn nothing_is_written_without_commit() {
    let folder = tempfile::tempdir().unwrap();
    let mut staged = Staged::default();
    staged.add(&folder.path().join("a.csv"), |out| out.write_all(b"a")).unwrap();
    let missing = folder.path().join("no/b.csv");
    assert!(matches!(staged.add(&missing, |_| Ok(())), Err(Error::Io { action: "write", .. })));
    assert!(matches!(staged.add(folder.path(), |_| Ok(())), Err(Error::Io { .. })));
    let twice = staged.add(&folder.path().join("a.csv"), |_| Ok(())).unwrap_err();
    assert!(twice.to_string().starts_with("two outputs are to be written to "));
    let roundabout = folder.path().join(".").join("a.csv");
    assert!(staged.add(&roundabout, |_| Ok(())).unwrap_err().to_string().starts_with("two outputs are to be"));
    drop(staged);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn devices_are_written_directly() {
    let null = Path::new("/dev/null");
    write(null, |out| out.write_all(b"x")).unwrap();
    assert!(!fs::metadata(null).unwrap().is_file());
    assert!(write(Path::new("/dev/no-such-device"), |_| Ok(())).is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn a_failed_stream_does_not_stop_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut staged = Staged::default();
    let path = folder.path().join("a.csv");
    staged.add(Path::new("/dev/full"), |out| out.write_all(b"b")).unwrap();
    staged.add(&path, |out| out.write_all(b"a")).unwrap();
    let Err(Error::Outputs { failed, written }) = staged.commit() else { panic!("the stream did not fail") };
    assert_eq!(written, [path]);
    assert!(failed[0].to_string().starts_with("cannot write /dev/full: No space left"), "{}", failed[0]);
    assert_eq!(names(folder.path()), ["a.csv"]);
}

#[test]
fn an_output_that_cannot_be_staged_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let (kept, lost) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
    fs::write(&lost, "old").unwrap();
    let mut staged = Staged::default();
    staged.attempt(|staged| staged.add(&lost, |_| Err(io::ErrorKind::StorageFull.into())));
    staged.add(&kept, |out| out.write_all(b"a")).unwrap();
    let error = staged.commit().unwrap_err();
    assert_eq!(error.exit_code(), 1);
    let (lost, written) = (lost.display().to_string(), kept.display().to_string());
    let text = error.to_string();
    assert!(text.starts_with(&format!("cannot write {lost}: ")) && text.ends_with(&format!("; written: {written}")));
    assert_eq!(fs::read(&lost).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["a.csv", "b.csv"]);
}

#[test]
fn two_writers_of_one_file_leave_the_content_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::thread::scope(|scope| {
        for byte in [b'a', b'b', b'c', b'd'] {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..20 {
                    write(path, |out| out.write_all(&[byte; 50_000])).unwrap();
                }
            });
        }
    });
    let content = fs::read(&path).unwrap();
    assert_eq!((content.len(), content.iter().all(|byte| *byte == content[0])), (50_000, true));
    assert_eq!(names(folder.path()), ["a.csv"]);
}

#[cfg(unix)]
#[test]
fn aliases_of_standard_output_are_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("/dev/stdout", &link).unwrap();
    assert!(["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().all(|it| is_stdout(Path::new(it))));
    assert!(is_stdout(&link));
    assert!(!["/dev/stderr", "/dev/null", "a.csv", "./-"].iter().any(|it| is_stdout(Path::new(it))));
}

#[cfg(unix)]
#[test]
fn aliases_of_a_file_are_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("below")).unwrap();
    std::os::unix::fs::symlink("a.csv", at("link.csv")).unwrap();
    std::os::unix::fs::symlink("below", at("other")).unwrap();
    for there in [false, true] {
        for (a, b) in [("a.csv", "below/../a.csv"), ("a.csv", "link.csv"), ("below/b.csv", "other/b.csv")] {
            assert!(is_same(&at(a), &at(b)) && is_same(&at(b), &at(a)), "{a} {b}");
        }
        assert!(!is_same(&at("a.csv"), &at("below/a.csv")) && !is_same(&at("none/a.csv"), &at("a.csv")));
        if !there {
            fs::write(at("a.csv"), "x").unwrap();
        }
    }
}

#[cfg(unix)]
#[test]
fn permissions_and_links_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (path, plain, link) = (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::write(&plain, "x").unwrap();
    write(&path, |_| Ok(())).unwrap();
    assert_eq!(mode(&path), mode(&plain));
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("b", &link).unwrap();
    write(&link, |out| out.write_all(b"through")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!((fs::read(&plain).unwrap(), mode(&plain)), (b"through".to_vec(), 0o640));
    symlink("d", folder.path().join("d")).unwrap();
    assert!(write(&folder.path().join("d"), |_| Ok(())).is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn pipes_are_written_directly() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        return;
    }
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    write(&pipe, |out| out.write_all(b"through")).unwrap();
    assert_eq!(reader.join().unwrap(), b"through");
    assert_eq!(names(folder.path()), ["pipe"]);
}
