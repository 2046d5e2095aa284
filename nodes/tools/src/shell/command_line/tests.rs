use superstep_nodes::tool::PermissionMatcher;

use super::*;

mod against_bash;

fn line(line: &str) -> CommandLine {
    CommandLine::parse(line)
}

/// Returns `true` if each part is covered by one of the patterns.
fn covered(text: &str, patterns: &[&str]) -> bool {
    let line = line(text);
    (0..line.count()).all(|part| patterns.iter().any(|pattern| line.fits(part, &Pattern::new(*pattern))))
}

#[track_caller]
fn assert_touches(pattern: &str, expected: Touch, lines: &[&str]) {
    for text in lines {
        assert_eq!(line(text).touches(&pattern.into()), expected, "{pattern} and {text}");
    }
}

#[test]
fn s2_048_a_denied_command_is_found_in_every_spelling() {
    assert_touches(
        "rm*",
        Touch::Yes,
        &[
            "rm x",
            "rm -fr x",
            "r''m x",
            "\"rm\" x",
            "'r'm x",
            "\\rm x",
            "r\\m x",
            "$'rm' x",
            "/bin/rm x",
            "./rm x",
            "~/bin/rm x",
            "env rm x",
            "env -u A B=1 rm x",
            "/usr/bin/env rm x",
            "A=1 rm x",
            "a && rm x",
            "a || rm",
            "a; rm",
            "a\nrm x",
            "a & rm x",
            "a | rm",
            "a |& rm",
            "! rm x",
            "(rm x)",
            "{ rm x; }",
            "echo $(rm x)",
            "echo \"a $(rm x)\"",
            "echo `rm x`",
            "echo ${x:-$(rm x)}",
            "a=$(rm x)",
            "cat <(rm x)",
            "a > $(rm x)",
            "cat <<EOF\n$(rm x)\nEOF",
            "cat <<EOF && rm x\nbody\nEOF",
            "cat <<< $(rm x)",
            "if rm x; then a; fi",
            "if a; then b; elif c; then d; else rm x; fi",
            "for i in a; do rm $i; done",
            "for i in $(rm x); do a; done",
            "while rm x; do a; done",
            "case a in a) rm x;; esac",
            "[ -n \"$(rm x)\" ]",
            "[[ -n $(rm x) ]]",
            "timeout 5 rm x",
            "timeout -k 1 --signal=KILL 5 nice -n 3 nohup rm x",
            "time -p rm x",
            "command rm x",
            "exec rm x",
            "builtin command rm x",
            "sudo -u root rm x",
            "busybox rm x",
            "xargs rm",
            "xargs -0 -n 1 rm -f",
            "ls | xargs -I{} rm {}",
            "find . -name '*.o' -exec rm {} +",
            "find . -exec a {} \\; -exec rm {} \\;",
            "sh -c 'rm x'",
            "bash -euo pipefail -c \"rm x\"",
            "sh -c 'sh -c \"rm x\"'",
            "env sh -c 'a; rm x'",
            "rm \\\n x",
            "a # comment\nrm x",
            "rm $x",
            "> f rm x",
            "rm x &> /dev/null",
            "eval a; rm x",
            "rm x; )",
        ],
    );
}

#[test]
fn s2_050_a_command_that_is_known_only_when_it_runs_may_be_denied() {
    assert_touches(
        "rm*",
        Touch::Unclear,
        &[
            "$x a",
            "r$x a",
            "$(a) b",
            "{rm,-rf,x}",
            "r? x",
            "eval \"$x\"",
            "eval rm",
            "source x",
            ". ./x",
            "trap 'rm x' EXIT",
            "alias a=rm",
            "f() { a; }; f",
            "sh -c \"$x\"",
            "bash",
            "xargs $x",
            "timeout $x a",
            "find . $x",
            "find . -name a$x",
            "env A=$x a",
            "timeout -k $x 5 a",
            "xargs -n $x a",
            "sh $x",
            "sudo -u $x a",
            "xargs -I{} sh -c 'a {}'",
            "watch rm x",
            "ssh host rm x",
            "((x))",
            "echo $((x))",
            "echo ${x@P}",
            "echo ${!x}",
            "a[$(b)]=1",
            "a=(b)",
            "[[ $x -eq 1 ]]",
            "[ -v x ]",
            "coproc a",
            "select x in a; do b; done",
            "r\\\nm x",
            "cat <<-EOF\n\t`a`\n\tEOF",
            "$'\\x72m' x",
            "a 'b",
            "a\rb",
            "a\u{a0}b",
        ],
    );
    assert_touches(
        "rm*",
        Touch::No,
        &["echo rm", "echo $x", "git rm x", "a # rm", "echo 'a; rm'", "cat <<'E'\n$(rm)\nE"],
    );
    assert_touches("git push --force*", Touch::Unclear, &["git push $x", "git $x", "git push ${x}e"]);
    assert_touches("git push --force*", Touch::No, &["git pull $x", "git push origin $x"]);
    let long = format!("a {}", "b".repeat(40_000));
    assert_touches(
        "rm*",
        Touch::Unclear,
        &[&long, &"(".repeat(300), &format!("{}a{}", "( ".repeat(300), " )".repeat(300))],
    );
}

#[test]
fn s2_048_an_allow_covers_every_part_of_a_line() {
    for text in [
        "cargo test",
        "cargo  test   --all",
        "cargo \"test\" -- 'a b'",
        "cargo test && cargo test x | cargo test\ncargo test",
        "timeout 60 cargo test",
        "nice -n 5 env cargo test",
        "(cargo test)",
        "if cargo test; then cargo test; fi",
        "for i in a b; do cargo test $i; done",
        "x=1; cargo test $x",
        "cargo test 2>&1",
        "cargo test > /dev/null 2>&1",
        "cargo test < Cargo.toml",
        "cargo test $(cargo test)",
        "sh -c 'cargo test'",
        "bash -c \"cargo test && cargo test\"",
        "cargo test # comment",
        "cargo test \\\n --all",
        "[ -f x ] && cargo test",
        "cargo test <<'EOF'\n; rm x\nEOF",
    ] {
        assert!(covered(text, &["cargo test*"]), "{text}");
    }
    for text in [
        "cargo build",
        "cargo",
        "cargo test && rm x",
        "cargo test & rm",
        "cargo test $(rm x)",
        "cargo test `rm x`",
        "cargo test <(rm x)",
        "cargo test\nrm x",
        "cargo test > out.txt",
        "cargo test > /etc/x",
        "cargo test < /etc/passwd",
        "cargo test > $x",
        "LD_PRELOAD=x cargo test",
        "PATH=. ; cargo test",
        "for PATH in .; do cargo test; done",
        "export PATH=.; cargo test",
        "env LD_PRELOAD=x cargo test",
        "read PATH; cargo test",
        "printf -v PATH . ; cargo test",
        "sudo cargo test",
        "/tmp/cargo test",
        "./cargo test",
        "/tmp/env cargo test",
        "'cargo test'",
        "'cargo test' x",
        "\"cargo test\"",
        "$x cargo test",
        "cargo $x",
        "eval cargo test",
        "cargo() { rm; }; cargo test",
        "alias cargo=rm; cargo test",
        "cargo test; x",
        "cargo test \"`rm x`\"",
        "cargo test <<EOF\n`rm x`\nEOF",
        "cargo test ${x:-'$(rm)'}",
        "cargo test \"${x:-'$(rm)'}\"",
        "cargo test 'a",
        "xargs cargo test",
        "cargo test <<E\n  E\ncargo test '\nE\nrm x\n'",
        "cargo test <<E <<F\nE\nF",
        "sh -c 'cargo test; rm'",
        "sh -c \"cargo test $x\"",
        "set -a; cargo test",
    ] {
        assert!(!covered(text, &["cargo test*"]), "{text}");
    }
    assert!(covered("git pull && cargo test > target/log", &["git pull", "cargo test*", "> target/*"]));
    assert!(covered("RUST_LOG=debug cargo test", &["cargo test*", "RUST_LOG=*"]));
    assert!(covered("ls", &["ls *"]) && covered("ls -a", &["ls *"]) && !covered("lsof", &["ls *"]));
    assert!(covered("", &[]) && covered("# only", &[]));
    assert!(!covered("a $x b", &["a * b"]), "without `$x` it is another command");
}

#[test]
fn s2_049_a_redirection_stays_in_the_workspace() {
    for text in ["a > x", "a >> ./x", "a >| b/../x", "a &> x", "a 2> x", "a >& x", "a | a > x"] {
        assert!(covered(text, &["a *", "> x"]), "{text}");
        assert!(!covered(text, &["a *"]), "{text}");
        assert_eq!(line(text).touches(&"> x".into()), Touch::Yes, "{text}");
    }
    for text in [
        "a > ../x",
        "a > /x",
        "a > ~/x",
        "a > x/../../y",
        "a > .git/hooks/x",
        "a > .GIT/x",
        "cd b; a > x",
        "a < ../x",
        "a < /dev/tcp/h/1",
        "a > \"$x\"",
        "a <> x",
    ] {
        assert!(!covered(text, &["a *", "b *", "cd *", "> *", "< *", "*"]), "{text}");
    }
}

#[test]
fn an_offer_covers_the_command_and_is_not_the_whole_line() {
    for (text, offers) in [
        ("git commit -m \"x y\"", vec![Some("git commit*")]),
        ("cargo test --all && ls -la", vec![Some("cargo test*"), Some("ls *")]),
        ("python3 scripts/a.py x", vec![Some("python3 scripts/a.py*")]),
        ("make", vec![Some("make")]),
        ("cat a > target/b/c", vec![Some("> target/b/*"), Some("cat *")]),
        ("a > b.txt", vec![Some("> b.txt"), Some("a *")]),
        ("python3 -c 'x'", vec![None]),
        ("git -C x push", vec![None]),
        ("sudo ls", vec![None, Some("ls *")]),
        ("$x a", vec![None]),
        ("eval x", vec![None, None]),
        ("a > /etc/x", vec![None, Some("a *")]),
    ] {
        let line = line(text);
        let mut offered: Vec<_> = (0..line.count()).map(|part| line.offer(part)).collect();
        for (part, offer) in offered.iter().enumerate() {
            assert!(
                offer.as_ref().is_none_or(|offer| line.fits(part, &offer.as_str().into())),
                "{text}: {offer:?}"
            );
        }
        let mut offers: Vec<_> = offers.into_iter().map(|offer| offer.map(str::to_owned)).collect();
        offered.sort();
        offers.sort();
        assert_eq!(offered, offers, "{text}");
    }
}

#[test]
fn a_line_that_is_not_understood_says_why() {
    assert_eq!(line("cargo test").unclear(), None);
    assert!(line("eval x").unclear().unwrap().contains("runs text"));
    assert!(PermissionMatcher::of(line("a 'b")).unclear().unwrap().contains("parsed"));
}
