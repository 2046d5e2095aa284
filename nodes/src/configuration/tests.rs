use super::values::read_into;
use super::*;

#[derive(Clone, Debug, Default, PartialEq)]
struct Lamp {
    on: bool,
    brightness: u32,
}

impl Configurable for Lamp {
    const KEYS: &'static [Key<Self>] = &[
        Key {
            name: "LAMP_ON",
            allowed: "true or false",
            read: |lamp, text| read_into(&mut lamp.on, text, |_| true),
            show: |lamp| lamp.on.to_string(),
        },
        Key {
            name: "BRIGHTNESS",
            allowed: "a whole number from 0 to 10",
            read: |lamp, text| read_into(&mut lamp.brightness, text, |value| *value <= 10),
            show: |lamp| lamp.brightness.to_string(),
        },
    ];

    fn check(&self) -> Result<(), (&'static str, String)> {
        match self.on && self.brightness == 0 {
            true => Err(("BRIGHTNESS", "more than 0, or LAMP_ON=false".to_owned())),
            false => Ok(()),
        }
    }
}

fn lamp() -> Configuration<Lamp> {
    Configuration::new()
}

#[test]
fn what_is_said_later_counts_and_where_is_shown() {
    let said = lamp().set("lamp_on", "true").unwrap().set("BRIGHTNESS", "3").unwrap();
    let said = said.variables(|name| (name == "BRIGHTNESS").then(|| " 7 ".into())).unwrap();
    assert_eq!(said.settings(), Ok(&Lamp { on: true, brightness: 7 }));
    assert_eq!(said.to_string(), "LAMP_ON     true  the program\nBRIGHTNESS  7     the environment\n");
    assert_eq!(lamp().to_string(), "LAMP_ON     false  the defaults\nBRIGHTNESS  0      the defaults\n");
    let of = Configuration::of(Lamp { on: true, brightness: 1 });
    assert_eq!((of.origin("LAMP_ON"), of.origin("BRIGHTNESS")), (&Origin::Code, &Origin::Code));
    assert_eq!(Configuration::of(Lamp::default()).origin("LAMP_ON"), &Origin::Default);
    let reading = Origin::Named("the scene reading".to_owned());
    let of = Configuration::of_origin(Lamp { on: true, brightness: 0 }, &reading);
    assert_eq!(of.to_string(), "LAMP_ON     true  the scene reading\nBRIGHTNESS  0     the defaults\n");
}

#[test]
fn a_bad_value_is_named_with_its_key_its_place_and_what_it_may_be() {
    let error = lamp().variables(|name| (name == "BRIGHTNESS").then(|| "11".into())).unwrap_err();
    let text = "BRIGHTNESS is `11` in the environment; say a whole number from 0 to 10";
    assert_eq!(error.to_string(), text);
    let blank = lamp().variables(|_| Some(" ".into())).unwrap();
    assert_eq!(blank.origin("BRIGHTNESS"), &Origin::Default, "a blank variable says nothing");
    let error = lamp().set("colour", "red").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`colour` in the program is not a setting; the settings are lamp_on, brightness"
    );
    let bright = Configuration::of(Lamp { on: true, brightness: 11 }).settings().unwrap_err().to_string();
    assert_eq!(bright, "BRIGHTNESS is `11` in the program; say a whole number from 0 to 10");
    let error = lamp().set("LAMP_ON", "true").unwrap().settings().unwrap_err().to_string();
    assert_eq!(
        error,
        "BRIGHTNESS is `0` by default, and has to be set, too; say more than 0, or LAMP_ON=false"
    );
}

#[cfg(feature = "configuration-files")]
#[test]
fn files_are_read_and_their_mistakes_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let toml = write("lamp.toml", "# A lamp.\nlamp_on = true\nbrightness = 4\n");
    let dotenv = write(".env", "OTHER=secret\nBRIGHTNESS=\"5\"\n");
    let said = lamp().file(&toml).unwrap().dotenv(&dotenv).unwrap();
    let said = said.dotenv(folder.path().join("none")).unwrap();
    assert_eq!(said.settings().unwrap().brightness, 5);
    assert_eq!(said.origin("LAMP_ON"), &Origin::File(toml));
    assert_eq!(said.origin("BRIGHTNESS"), &Origin::File(dotenv));
    assert!(!said.to_string().contains("secret"));

    for (text, reason) in [
        ("brightness = 40", "BRIGHTNESS is `40` in "),
        ("brightness = [4]", "BRIGHTNESS is `array` in "),
        ("brigthness = 4", "is not a setting; the settings are lamp_on, brightness"),
        ("brightness = ", "cannot be read: "),
    ] {
        let error = lamp().file(write("bad.toml", text)).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("bad.toml"), "{text}: {error}");
    }
    let error = lamp().file(write("twice.toml", "brightness = 4\nBRIGHTNESS = 5\n")).unwrap_err().to_string();
    assert!(error.ends_with("twice.toml cannot be read: it sets `brightness` twice"), "{error}");
    let error = lamp().file(write("blank.toml", "lamp_on = \"\"\n")).unwrap_err().to_string();
    assert!(error.contains("LAMP_ON is `` in "), "{error}");
    let error = lamp().dotenv(write("bad.env", "BRIGHTNESS=x\n")).unwrap_err().to_string();
    assert!(error.contains("bad.env; say a whole number"), "{error}");
    let error = lamp().file(folder.path().join("none.toml")).unwrap_err().to_string();
    assert!(error.contains("none.toml cannot be read: "), "{error}");
}

#[cfg(feature = "configuration-files")]
#[test]
fn s0_085_dotenv_comes_over_a_file_and_the_environment_over_both() {
    let folder = tempfile::tempdir().unwrap();
    let (toml, dotenv) = (folder.path().join("lamp.toml"), folder.path().join(".env"));
    std::fs::write(&toml, "lamp_on = true\nbrightness = 1\n").unwrap();
    std::fs::write(&dotenv, "BRIGHTNESS=2\n").unwrap();
    let of_file = lamp().file(&toml).unwrap();
    assert_eq!(
        (of_file.settings().unwrap().brightness, of_file.origin("BRIGHTNESS")),
        (1, &Origin::File(toml))
    );
    let of_dotenv = of_file.dotenv(&dotenv).unwrap();
    assert_eq!(of_dotenv.settings().unwrap().brightness, 2);
    assert_eq!(of_dotenv.origin("BRIGHTNESS"), &Origin::File(dotenv));
    let of_environment = of_dotenv.variables(|name| (name == "BRIGHTNESS").then(|| "3".into())).unwrap();
    assert_eq!(
        of_environment.settings(),
        Ok(&Lamp { on: true, brightness: 3 }),
        "what it does not say stays"
    );
    assert_eq!(of_environment.origin("BRIGHTNESS"), &Origin::Environment);
}

/// A key with a space in it was reported for a file of twenty lines without the number of its line.
#[cfg(feature = "configuration-files")]
#[test]
fn a_line_of_dotenv_that_is_no_setting_is_reported_by_its_number_and_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.env");
    for (text, line) in [
        ("MODEL_KEY=sk-secret 123 abc\n", 1),
        ("# A lamp.\n\nBRIGHTNESS=2\nMODEL_KEY=sk-secret 123 abc\nOTHER=1\n", 4),
        ("BRIGHTNESS=2\r\nMODEL_KEY=sk-secret 123 abc", 2),
        ("NOTE=\"one\ntwo\n\nthree\"\nsk-secret\n", 5),
        ("BRIGHTNESS=2\nNOTE=\"one\ntwo\" secret \"\nthree\"\nOTHER=1\n", 2),
        ("BRIGHTNESS=2\nNOTE='secret\nOTHER=1\n\n", 2),
        ("BRIGHTNESS=2\nNOTE='secret\nOTHER=1", 2),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = lamp().dotenv(&path).unwrap_err().to_string();
        let said = format!(
            "key.env cannot be read: line {line} is not NAME=VALUE; a value with spaces takes quotes, and quotes have to end"
        );
        assert!(error.ends_with(&said), "{text}: {error}");
    }
    let long = format!("# {}\nMODEL_KEY={}\n9\n", "#".repeat(20_000), "k".repeat(20_000));
    std::fs::write(&path, long).unwrap();
    let error = lamp().dotenv(&path).unwrap_err().to_string();
    assert!(error.contains(": line 3 is not NAME=VALUE; "), "{error}");
    std::fs::write(&path, "\u{feff}BRIGHTNESS=2\nMODEL_KEY=\"sk-secret 123 abc\"\n").unwrap();
    assert_eq!(lamp().dotenv(&path).unwrap().settings().unwrap().brightness, 2);
    std::fs::write(&path, b"BRIGHTNESS=\xff\n").unwrap();
    let error = lamp().dotenv(&path).unwrap_err().to_string();
    assert!(error.contains("key.env cannot be read: "), "{error}");
}
