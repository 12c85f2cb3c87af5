import {
  type Diagnostic,
  hasErrors,
  loadModule,
  type ModuleConfig,
  selectModuleFiles,
} from "@stackwright/lang";
import { RfsStacksError } from "../errors.ts";

/** The root module of a template. `RFS_TEMPLATE_INVALID` for one that does not parse. */
export function templateModule(files: ReadonlyMap<string, Uint8Array>): ModuleConfig {
  const { primary, override } = selectModuleFiles(files.keys());
  const own = [...primary, ...override].filter((name) => !name.includes("/"));
  if (own.length === 0) {
    throw new RfsStacksError(
      "RFS_TEMPLATE_INVALID",
      "the template has no file that ends with .tf or .tf.json at its root",
    );
  }
  const contents = new Map(own.map((name) => [name, files.get(name) ?? new Uint8Array()]));
  const { config, diagnostics } = loadModule(contents, { rfsTemplates: true });
  refuseErrors(diagnostics, "RFS_TEMPLATE_INVALID");
  return config;
}

/** Throws the first error with the place that it is at. */
export function refuseErrors(
  diagnostics: readonly Diagnostic[],
  code: "RFS_TEMPLATE_INVALID" | "RFS_VARIABLES_INVALID",
): void {
  if (!hasErrors(diagnostics)) return;
  const first = diagnostics.find(({ severity }) => severity === "error");
  if (first === undefined) return;
  const { summary, detail, subject } = first;
  const place = subject?.source.locate(subject.start, subject.end);
  const where = place === undefined ? "" : `${place.filename}:${place.start.line}: `;
  throw new RfsStacksError(code, `${where}${summary}${detail === "" ? "" : `: ${detail}`}`);
}
