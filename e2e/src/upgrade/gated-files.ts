/** Files of the gate provider, in the order in which they are made. */
export const FILES: readonly string[] = ["f1", "f2", "f3", "f4", "f5", "f6"];

/** Files that are made one after the other; each but the first waits for its gate, `open-` and its name. */
export function gatedFiles(site: string): string {
  const files = FILES.map((name, index) => {
    const former = FILES[index - 1];
    const gate = former === undefined ? "" : `  gate = "open-${name}"\n`;
    const order = former === undefined ? "" : `  depends_on = [gate_file.${former}]\n`;
    return `resource "gate_file" "${name}" {\n  path = "${name}"\n  content = "made"\n${gate}${order}}\n`;
  });
  return withProvider(site, files.join(""));
}

/** One file that waits for nothing. */
export function openFile(site: string, path = "only"): string {
  return withProvider(
    site,
    `resource "gate_file" "${path}" {\n  path = "${path}"\n  content = "made"\n}\n`,
  );
}

function withProvider(site: string, resources: string): string {
  return `terraform {
  required_providers {
    gate = { source = "example.com/e2e/gate" }
  }
}
provider "gate" {
  root = ${JSON.stringify(site)}
}
${resources}`;
}
