const NAMED_FILES = 5;

/**
 * Says which files stay here, so that a run that misses one is understood. The ignore file that counts is named with care: a new
 * `.stackwrightignore` beside a `.terraformignore` would upload all that the latter leaves out.
 */
export function withheldNote(paths: readonly string[]): string {
  const names = paths.slice(0, NAMED_FILES).map((path) => `"${path}"`);
  if (paths.length > NAMED_FILES) names.push(`and ${paths.length - NAMED_FILES} more`);
  return `Not uploaded, as states and .env files hold secrets: ${names.join(", ")}. A line "!/PATH" in the .stackwrightignore of the stack or module, or in its .terraformignore where only that exists, includes a file.\n`;
}
