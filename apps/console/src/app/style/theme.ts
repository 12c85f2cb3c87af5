/** `system` follows the setting of the device. */
export type Theme = "system" | "light" | "dark";

const KEY = "stackwright.theme";

export function readTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function applyTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
  if (theme === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
}
