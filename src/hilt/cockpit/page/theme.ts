// Light or dark: follows the system until the button is pressed.

const KEY = "hilt-theme";

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function startTheme(button: HTMLElement, changed: () => void): void {
  try {
    const stored = localStorage.getItem(KEY);
    if (stored) document.documentElement.dataset.theme = stored;
  } catch {
    // A browser without storage forgets the choice.
  }
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // as above
    }
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
