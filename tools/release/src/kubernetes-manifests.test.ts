import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeKubernetesManifests } from "./kubernetes-manifests.ts";

it("names the image of the release in every manifest", async () => {
  await using output = await mkdtempDisposable(join(tmpdir(), "manifests-"));
  const root = join(import.meta.dirname, "../../..");
  const given = { commit: "", time: new Date(0), nodes: [], version: "1.2.3" };
  await makeKubernetesManifests({ root, output: output.path, ...given });
  for (const name of ["stackwright.yaml", "runs-in-pods.yaml"]) {
    const text = await readFile(join(output.path, "kubernetes", name), "utf8");
    const images = [...text.matchAll(/image[:=] ?(\S+)$/gm)].map(([, image]) => image);
    expect(images.length, name).toBeGreaterThan(1);
    expect(new Set(images)).toEqual(new Set(["stackwright-server:1.2.3"]));
  }
});
