const NAMED_FILES = 5;

/** Says which files stay here, so that a run that misses one is understood. */
export function withheldNote(paths: readonly string[]): string {
  const names = paths.slice(0, NAMED_FILES).map((path) => `"${path}"`);
  if (paths.length > NAMED_FILES) names.push(`and ${paths.length - NAMED_FILES} more`);
  return `Not uploaded, as states and .env files hold secrets: ${names.join(", ")}. A line "!/PATH" in .stackwrightignore includes a file.\n`;
}
