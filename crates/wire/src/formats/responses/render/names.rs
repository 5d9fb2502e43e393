//! Maps flat tool names to namespace and name for tools that are custom or have a namespace.

use domain::canon::Tool;

pub struct Names(Vec<Special>);

struct Special {
    flat: String,
    namespace: Option<String>,
    name: String,
    custom: bool,
}

impl Names {
    pub fn new(tools: &[Tool]) -> Self {
        let special = |tool: &Tool| {
            let (namespace, name, custom) = match tool {
                Tool::Function(tool) if tool.namespace.is_some() => (&tool.namespace, &tool.name, false),
                Tool::Custom(tool) => (&tool.namespace, &tool.name, true),
                Tool::Function(_) | Tool::Foreign(_) => return None,
            };
            let (namespace, name) = (namespace.clone(), name.clone());
            Some(Special { flat: tool.flat_name()?, namespace, name, custom })
        };
        Self(tools.iter().filter_map(special).collect())
    }

    /// Namespace, name, and whether the tool takes free text.
    pub fn of<'a>(&'a self, flat: &'a str) -> (Option<&'a str>, &'a str, bool) {
        match self.0.iter().find(|special| special.flat == flat) {
            Some(found) => (found.namespace.as_deref(), &found.name, found.custom),
            None => (None, flat, false),
        }
    }
}
