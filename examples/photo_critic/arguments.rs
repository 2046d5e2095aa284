//! The command line.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};
use etcetera::BaseStrategy;
use superstep::nodes::ModelName;
use superstep::nodes::rag::EmbedderName;
use superstep_examples::critic::{CriticSettings, VisionDetail};

/// Critiques the composition of a photograph, with advice from a folder of texts; offline and by a script, unless a
/// model is named.
#[derive(Debug, Parser)]
#[command(name = "photo_critic", args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    /// The photograph, a JPEG, PNG, GIF or WebP [default: a picture of this example].
    pub(crate) image: Option<PathBuf>,

    /// The request to the model [default: to critique the composition].
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// The level of detail for the model: low or high [default: VISION_DETAIL, or low].
    #[arg(long, value_name = "LEVEL")]
    detail: Option<VisionDetail>,

    /// The longest side of the image that is sent, in pixels [default: VISION_MAX_SIZE, or 2048].
    #[arg(long, value_name = "N")]
    max_size: Option<u32>,

    /// The model: script:FILE, or one behind a network, such as openai:gpt-4.1, with its key in the environment [default:
    /// SUPERSTEP_MODEL, or the model of OpenAI that OPENAI_MODEL names, or a script].
    #[arg(long, value_name = "NAME")]
    model: Option<ModelName>,

    /// The prices of a million tokens, by model, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,

    /// The file that keeps every step.
    #[arg(long, value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,

    /// Resume the interrupted critique in the file of --db.
    #[arg(long, requires = "db", conflicts_with_all = ["image", "prompt", "detail", "max_size"])]
    pub(crate) resume: bool,

    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    knowledge: Knowledge,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add the Markdown and text files of a folder to the knowledge base.
    Ingest {
        /// The folder.
        folder: PathBuf,

        #[command(flatten)]
        knowledge: Knowledge,
    },
}

/// The knowledge base and its embedder.
#[derive(Debug, Args)]
pub(crate) struct Knowledge {
    /// The knowledge base [default: KNOWLEDGE_DB_PATH, or one of this example, with its own texts until others are ingested].
    #[arg(long, value_name = "FILE")]
    knowledge: Option<PathBuf>,

    /// The embedder: hash, or a model such as openai:text-embedding-3-small [default: EMBEDDING_MODEL, or hash].
    #[arg(long, value_name = "NAME")]
    embedder: Option<EmbedderName>,
}

impl Arguments {
    /// Returns the settings of the command line, or else of the environment, or else of this example.
    pub(crate) fn settings(&self) -> Result<CriticSettings, Box<dyn Error>> {
        let mut settings = self.knowledge.settings()?;
        if let Some(model) = superstep_examples::model::chosen(self.model.as_ref())? {
            settings.model = model;
        }
        settings.detail = self.detail.unwrap_or(settings.detail);
        settings.max_size = self.max_size.unwrap_or(settings.max_size);
        if let Some(prompt) = &self.prompt {
            settings.prompt.clone_from(prompt);
        }
        Ok(settings)
    }
}

impl Knowledge {
    pub(crate) fn settings(&self) -> Result<CriticSettings, Box<dyn Error>> {
        self.over(|name| std::env::var_os(name))
    }

    fn over(&self, look_up: impl Fn(&str) -> Option<OsString>) -> Result<CriticSettings, Box<dyn Error>> {
        let own = CriticSettings {
            model: ModelName::Script(own("script.json")),
            embedder: EmbedderName::Hash,
            database: own_knowledge()?,
            ..CriticSettings::default()
        };
        let mut settings = own.with_variables(look_up)?;
        if let Some(file) = &self.knowledge {
            settings.database.clone_from(file);
        }
        if let Some(embedder) = &self.embedder {
            settings.embedder = embedder.clone();
        }
        Ok(settings)
    }
}

/// Returns the path of a file or folder of this example.
pub(crate) fn own(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/photo_critic")).join(name)
}

/// Returns the path of this example's knowledge base, in the user's data folder.
pub(crate) fn own_knowledge() -> Result<PathBuf, Box<dyn Error>> {
    Ok(etcetera::choose_base_strategy()?.data_dir().join("superstep").join("photo_critic.db"))
}
