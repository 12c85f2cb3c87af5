/** Shorter texts are too likely to be part of ordinary words. */
const MIN_SECRET = 6;
const MAX_SECRETS = 200;

/**
 * Removes from a text all parts that occur in the configuration as well: a provider that exits may print the
 * credentials that it received. Configurations are not decoded; every readable run of characters in their bytes counts.
 */
export function redact(text: string, configData: Uint8Array): string {
  if (configData.length === 0 || text === "") return text;
  const content = Buffer.from(configData.buffer, configData.byteOffset, configData.byteLength);
  const runs = content.toString("latin1").match(/[\x20-\x7e]{6,}/g) ?? [];
  // The byte of a length before a text may be readable itself.
  const secrets = runs
    .slice(0, MAX_SECRETS)
    .flatMap((run) => [run, run.slice(1), run.slice(2)])
    .filter((run) => run.length >= MIN_SECRET);
  let clean = text;
  for (const secret of secrets.toSorted((a, b) => b.length - a.length)) {
    clean = clean.replaceAll(secret, "***");
  }
  return clean;
}
