//! Charts as SVG.

use std::fmt::Write;

/// A chart to be drawn.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    pub(super) form: Form,
    /// The name of the horizontal axis.
    pub(super) x: &'a str,
    /// The places on the horizontal axis, as many as each series has values.
    pub(super) places: Places,
    pub(super) series: Vec<Series<'a>>,
}

/// The form in which values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Bars,
    Lines,
    Points,
}

/// The places on the horizontal axis.
pub(super) enum Places {
    Named(Vec<String>),
    Numbers(Vec<f64>),
}

/// A row of values with a name. A value that is missing is a gap.
pub(super) struct Series<'a> {
    pub(super) name: &'a str,
    pub(super) values: Vec<Option<f64>>,
}

/// A place on the horizontal axis with its value; `None` if that is missing.
type Dot = Option<(f64, f64)>;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 780.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 410.0;

/// The maximum number of names that fit below the horizontal axis.
const MOST_NAMES: usize = 10;
const MOST_NAME_CHARS: usize = 12;

/// Colours that people tell apart, also those who see some colours alike.
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#000000"];

/// The axis of numbers from one value to another, with round steps.
struct Axis {
    from: f64,
    to: f64,
    step: f64,
}

impl Axis {
    /// Makes an axis that has all of these values, which are finite.
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values.fold((f64::MAX, f64::MIN), |(a, b), value| (a.min(value), b.max(value)));
        let (least, most) = match least.total_cmp(&most) {
            std::cmp::Ordering::Less => (least, most),
            std::cmp::Ordering::Equal => (least.min(0.0), if most == 0.0 { 1.0 } else { most.max(0.0) }),
            std::cmp::Ordering::Greater => (0.0, 1.0),
        };
        // Halves, as the distance of the largest numbers is none.
        let rough = (most / 5.0 - least / 5.0).max(f64::MIN_POSITIVE);
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|by| by * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let from = ((least / step).floor() * step).max(f64::MIN);
        Self { from, to: ((most / step).ceil() * step).min(f64::MAX), step }
    }

    /// Returns the share of the axis that lies before a value.
    fn share(&self, value: f64) -> f64 {
        // Halves again. Large values that differ in their last digit only have no distance.
        let share = (value / 2.0 - self.from / 2.0) / (self.to / 2.0 - self.from / 2.0);
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 }
    }

    /// Returns the values at the steps, with their texts.
    fn steps(&self) -> Vec<(f64, String)> {
        let count = ((self.to / self.step - self.from / self.step).round() as usize).min(12);
        let digits = (-self.step.log10().floor()).clamp(0.0, 12.0) as usize;
        let text = |value: f64| match value.abs() {
            large if large >= 1e15 || (large > 0.0 && large < 1e-9) => format!("{value:e}"),
            _ => format!("{value:.digits$}"),
        };
        let values = (0..=count).map(|n| self.from + n as f64 * self.step).filter(|value| value.is_finite());
        values.map(|value| (value, text(value))).collect()
    }
}

impl Chart<'_> {
    /// Draws the chart.
    pub(super) fn to_svg(&self) -> String {
        let zero = (self.form == Form::Bars).then_some(0.0);
        let values = self.series.iter().flat_map(|series| series.values.iter().flatten().copied());
        let y = Axis::of(values.chain(zero));
        let up = |value: f64| BOTTOM - y.share(value) * (BOTTOM - TOP);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
        );
        text(&mut svg, (WIDTH / 2.0, 28.0), "middle\" font-size=\"18", self.title);
        for (value, name) in y.steps() {
            let at = up(value);
            line(&mut svg, (LEFT, at), (RIGHT, at), "#ddd");
            text(&mut svg, (LEFT - 8.0, at + 4.0), "end", &name);
        }
        let across = self.horizontal(&mut svg);
        line(&mut svg, (LEFT, BOTTOM), (RIGHT, BOTTOM), "#333");
        text(&mut svg, ((LEFT + RIGHT) / 2.0, HEIGHT - 18.0), "middle", self.x);
        for (index, series) in self.series.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let dots: Vec<_> =
                series.values.iter().zip(&across).map(|(value, at)| Some((*at, (*value)?))).collect();
            match self.form {
                Form::Bars => self.bars(&mut svg, index, &dots, up),
                Form::Lines => lines(&mut svg, colour, &dots, up),
                Form::Points => points(&mut svg, colour, &dots, up),
            }
            let at = LEFT + (RIGHT - LEFT) / self.series.len() as f64 * index as f64;
            let sample = format!("rect x=\"{at:.2}\" y=\"42\" width=\"10\" height=\"10\" fill=\"{colour}\"");
            shape(&mut svg, &sample);
            text(&mut svg, (at + 15.0, 52.0), "start", &shortened(series.name));
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Draws the bars of a series, beside those of the others.
    fn bars(&self, svg: &mut String, index: usize, dots: &[Dot], up: impl Fn(f64) -> f64) {
        let colour = COLOURS[index % COLOURS.len()];
        let room = (RIGHT - LEFT) / dots.len().max(1) as f64 * 0.8;
        let width = room / self.series.len() as f64;
        for (middle, value) in dots.iter().flatten() {
            let (x, y) = (middle - room / 2.0 + width * index as f64, up(value.max(0.0)));
            let height = up(value.min(0.0)) - y;
            let place = format!("x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"");
            shape(svg, &format!("rect {place} fill=\"{colour}\""));
        }
    }

    /// Draws the names below the horizontal axis. Returns its places.
    fn horizontal(&self, svg: &mut String) -> Vec<f64> {
        match &self.places {
            Places::Numbers(numbers) => {
                let axis = Axis::of(numbers.iter().copied());
                let at = |value: f64| LEFT + axis.share(value) * (RIGHT - LEFT);
                axis.steps()
                    .iter()
                    .for_each(|(value, name)| text(svg, (at(*value), BOTTOM + 20.0), "middle", name));
                numbers.iter().map(|number| at(*number)).collect()
            }
            Places::Named(names) => {
                let width = (RIGHT - LEFT) / names.len().max(1) as f64;
                let places: Vec<_> = (0..names.len()).map(|n| LEFT + width * (n as f64 + 0.5)).collect();
                let every = names.len().div_ceil(MOST_NAMES).max(1);
                for (place, name) in places.iter().zip(names).step_by(every) {
                    text(svg, (*place, BOTTOM + 20.0), "middle", &shortened(name));
                }
                places
            }
        }
    }
}

/// Draws a line through the dots, with a gap where one is missing.
fn lines(svg: &mut String, colour: &str, dots: &[Dot], up: impl Fn(f64) -> f64) {
    for part in dots.split(Option::is_none).filter(|part| !part.is_empty()) {
        let dots: Vec<_> = part.iter().flatten().map(|(x, y)| format!("{x:.2},{:.2}", up(*y))).collect();
        let line = format!("polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"", dots.join(" "));
        shape(svg, &format!("{line} stroke-width=\"2\" stroke-linecap=\"round\""));
    }
}

fn points(svg: &mut String, colour: &str, dots: &[Dot], up: impl Fn(f64) -> f64) {
    for (x, value) in dots.iter().flatten() {
        let y = up(*value);
        shape(svg, &format!("circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"3\" fill=\"{colour}\""));
    }
}

fn shape(svg: &mut String, shape: &str) {
    writeln!(svg, "<{shape}/>").expect("writing to a text does not fail");
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let ((x1, y1), (x2, y2)) = (from, to);
    shape(
        svg,
        &format!("line x1=\"{x1:.2}\" y1=\"{y1:.2}\" x2=\"{x2:.2}\" y2=\"{y2:.2}\" stroke=\"{colour}\""),
    );
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let text = escaped(text);
    writeln!(svg, "<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\">{text}</text>")
        .expect("writing to a text does not fail");
}

fn shortened(name: &str) -> String {
    match name.chars().count() {
        0..=MOST_NAME_CHARS => name.to_owned(),
        _ => name.chars().take(MOST_NAME_CHARS - 1).chain(['…']).collect(),
    }
}

/// Returns a text as XML has it. Characters that XML cannot have are left out.
fn escaped(text: &str) -> String {
    let is_valid = |letter: &char| !letter.is_control() && !matches!(letter, '\u{fffe}' | '\u{ffff}');
    let mut escaped = String::new();
    for letter in text.chars().filter(is_valid) {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(svg: &str) -> Vec<f64> {
        let is_number = |letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-';
        let quoted = svg.split('"').skip(1).step_by(2).flat_map(|value| value.split([' ', ',']));
        quoted
            .filter(|value| !value.is_empty() && value.chars().all(is_number))
            .filter_map(|it| it.parse().ok())
            .collect()
    }

    #[test]
    fn steps_are_round_and_reach_over_the_values() {
        let steps = |values: &[f64]| -> Vec<String> {
            Axis::of(values.iter().copied()).steps().into_iter().map(|(_, name)| name).collect()
        };
        assert_eq!(steps(&[0.0, 9.0]), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(steps(&[-0.3, 0.41]), ["-0.4", "-0.2", "0.0", "0.2", "0.4", "0.6"]);
        assert_eq!(steps(&[7.0]), ["0", "2", "4", "6", "8"]);
        assert_eq!(steps(&[]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    }

    #[test]
    fn a_bar_is_as_high_as_its_value_and_a_gap_parts_a_line() {
        let chart = |form, values: Vec<Option<f64>>| Chart {
            title: "A < B",
            form,
            x: "city",
            places: Places::Named(values.iter().map(|_| "Bern".to_owned()).collect()),
            series: vec![Series { name: "n", values }],
        };
        let bars = chart(Form::Bars, vec![Some(5.0), Some(-5.0)]).to_svg();
        assert!(bars.contains("A &lt; B") && !bars.contains("A < B"), "{bars}");
        assert_eq!(bars.matches("height=\"141.67\"").count(), 2, "{bars}");
        let lines = chart(Form::Lines, vec![Some(1.0), Some(2.0), None, Some(3.0)]).to_svg();
        assert_eq!(lines.matches("<polyline").count(), 2, "{lines}");
        assert_eq!(chart(Form::Points, vec![Some(1.0), None]).to_svg().matches("<circle").count(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn everything_is_drawn_inside_of_the_picture_whatever_the_values(
            values in prop::collection::vec(prop::option::of(prop::num::f64::NORMAL), 0..40),
            places in prop::collection::vec(prop::num::f64::NORMAL, 40),
            name in "\\PC{0,20}",
            form in prop::sample::select(vec![Form::Bars, Form::Lines, Form::Points]),
        ) {
            let places = match form {
                Form::Bars => Places::Named(values.iter().map(|_| name.clone()).collect()),
                _ => Places::Numbers(places[..values.len()].to_vec()),
            };
            let svg = Chart { title: &name, form, x: &name, places, series: vec![Series { name: &name, values }] }.to_svg();
            let body = svg.split_once('\n').unwrap().1;
            prop_assert!(numbers(body).into_iter().all(|it| (0.0..=800.0).contains(&it)), "{}", svg);
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", svg);
        }
    }
}
