//! The prompts of a critic.

use superstep::nodes::rag::{KnowledgeBase, SearchKnowledge};

/// The name of the tool with which a critic searches.
pub const COMPOSITION_TOOL: &str = "composition_rag_tool";

/// The default prompt of a critic.
pub const CRITIC_PROMPT: &str = "Critique the composition of this landscape photograph.";

/// The default instructions of a critic.
pub const CRITIC_INSTRUCTIONS: &str = "\
You are an expert critic of the composition of landscape photographs. Work in three steps.

1. Visual analysis. Look at the photograph: the rule of thirds and where the horizon and the main subject stand; leading lines \
and where they lead; framing and the edges; foreground, middle ground and background, and the depth between them; balance, \
visual weight and negative space; light, contrast and colour; what distracts.

2. Knowledge. You must use the tool composition_rag_tool to look up what experts advise on what you see, before you judge it: \
one search for each matter, in words of the craft, such as \"leading lines in the foreground\". Several searches are better \
than one; you may make them at the same time. Do not answer from memory alone.

3. Synthesis. Bring what you see and what you found together in one critique: what works and why, what weakens the \
photograph, and what to do differently, from the most important to the least. Be specific to this photograph, name the source \
of each piece of advice that you use, and say so where you found none.";

const TOOL_PROMPT: &str = "Searches a library of advice on the composition of landscape photographs and returns the pieces \
that fit best, each with its source. Use it before you judge a photograph, once for each matter that you see in it, such as \
\"rule of thirds\", \"leading lines\" or \"light at golden hour\". Search again in other words if what it finds does not help.";

const NOTHING_FITS: &str = "No relevant advice found in the knowledge base.";

/// Makes the tool with which a critic searches.
pub fn composition_tool(base: KnowledgeBase, limit: usize) -> SearchKnowledge {
    let tool = SearchKnowledge::new(base).named(COMPOSITION_TOOL).limit(limit);
    tool.prompt(TOOL_PROMPT).when_empty(NOTHING_FITS)
}
