import { makeChangelog } from "./changelog.ts";
import { makeDocumentation } from "./documentation.ts";
import { makeEditorExtension } from "./editor-extension.ts";
import { makeExecutables } from "./executable/make-executables.ts";
import { makeImageContext } from "./image-context.ts";
import { makeKubernetesManifests } from "./kubernetes-manifests.ts";
import { makeOpenApi } from "./open-api.ts";
import { makePackages } from "./packages.ts";
import { makeSbom } from "./sbom/make-sbom.ts";

/** What parts are made from and where they are written. */
export interface PartContext {
  /** Of the repository, whose packages are built. */
  readonly root: string;
  readonly output: string;
  readonly version: string;
  /** Of the commit, in full. */
  readonly commit: string;
  /** Of the commit: all files in archives have it, so that equal sources give equal bytes. */
  readonly time: Date;
  readonly nodes: readonly string[];
}

/** One part of a release. */
export interface Part {
  readonly name: string;
  readonly what: string;
  make(context: PartContext): Promise<void>;
}

export const PARTS: readonly Part[] = [
  { name: "packages", what: "the command and the libraries as npm packages", make: makePackages },
  { name: "executables", what: "the command as one file, without Node", make: makeExecutables },
  { name: "images", what: "what container images are built from", make: makeImageContext },
  { name: "kubernetes", what: "manifests for Kubernetes", make: makeKubernetesManifests },
  { name: "editor", what: "the extension for VS Code", make: makeEditorExtension },
  { name: "openapi", what: "the API of the server", make: makeOpenApi },
  { name: "docs", what: "the documentation, as a site", make: makeDocumentation },
  { name: "sbom", what: "the bill of materials, CycloneDX; refuses licenses", make: makeSbom },
  { name: "changelog", what: "what is new, by the changesets", make: makeChangelog },
];
