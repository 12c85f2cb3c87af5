import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PartContext } from "./parts.ts";

/** Writes the manifests for Kubernetes, whose images have the version of the release. */
export async function makeKubernetesManifests({
  root,
  output,
  version,
}: PartContext): Promise<void> {
  const [from, to] = [join(root, "examples/kubernetes"), join(output, "kubernetes")];
  await mkdir(to, { recursive: true });
  for (const name of (await readdir(from)).filter((file) => file.endsWith(".yaml"))) {
    const text = await readFile(join(from, name), "utf8");
    await writeFile(join(to, name), withVersion(text, version));
  }
}

/** The manifests name the image of a release, wherever it is named. */
function withVersion(text: string, version: string): string {
  return text.replaceAll(/(image[:=] ?)stackwright-server$/gm, `$1stackwright-server:${version}`);
}
