// Dark or light: by the system, until the switch is used.

const THEME = "studio-theme";

/** Shows the theme that was chosen before. */
export function preparedTheme(): void {
  const chosen = localStorage.getItem(THEME);
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset["theme"] = chosen;
}

export function switchTheme(): void {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const shown = document.documentElement.dataset["theme"] ?? system;
  const next = shown === "dark" ? "light" : "dark";
  if (next === system) {
    delete document.documentElement.dataset["theme"];
    localStorage.removeItem(THEME);
  } else {
    document.documentElement.dataset["theme"] = next;
    localStorage.setItem(THEME, next);
  }
}
