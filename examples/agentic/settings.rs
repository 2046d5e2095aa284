//! The settings, and their sources.

use superstep::nodes::configuration::{Configuration, ConfigurationError, Origin};
use superstep::nodes::graphs::AgenticSettings;

use crate::arguments::Arguments;

/// The file of environment variables, which is read if it exists.
const DOTENV: &str = ".env";

/// Reads the settings of a profile; those of a file, of `.env` and of the environment override them, in this order.
pub(crate) fn read(arguments: &Arguments) -> Result<Configuration<AgenticSettings>, ConfigurationError> {
    let settings = match arguments.profile {
        Some(profile) => {
            let origin = Origin::Named(format!("the profile {profile}"));
            Configuration::of_origin(profile.settings(arguments.user.as_deref()), &origin)
        }
        None => Configuration::new(),
    };
    let settings = match &arguments.config {
        Some(path) => settings.file(path)?,
        None => settings,
    };
    let settings = settings.dotenv(DOTENV)?.environment()?;
    settings.settings()?;
    Ok(settings)
}
