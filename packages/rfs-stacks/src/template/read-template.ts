import { archiveFromBytes, ProviderSourceError, readArchive } from "@stackwright/provider-source";
import { RfsStacksError } from "../errors.ts";
import type { RfsStacksPort } from "../port/rfs-stacks-port.ts";
import type { RfsTemplateFile } from "../port/stack-port.ts";
import type { BodyFields } from "../request/body-fields.ts";
import { readUri } from "./read-uri.ts";
import {
  MAX_ARCHIVE_BYTES,
  MAX_ARCHIVE_FILES,
  MAX_BODY_CHARACTERS,
  MAX_TEXT_BYTES,
  MAX_URI_CHARACTERS,
  TEMPLATE_ARCHIVE_LIMITS,
} from "./template-limits.ts";

/** What the members of a request that give a template are called. */
export const TEMPLATE_FIELDS = Object.freeze(["template_body", "template_uri"]);

/** The template of a request as the file that it is; undefined without one. */
export async function readTemplateFile(
  port: Pick<RfsStacksPort, "read">,
  fields: BodyFields,
  signal: AbortSignal,
): Promise<RfsTemplateFile | undefined> {
  const body = fields.text("template_body", { max: MAX_BODY_CHARACTERS });
  const uri = fields.text("template_uri", { max: MAX_URI_CHARACTERS });
  if (body !== undefined && uri !== undefined) {
    throw new RfsStacksError(
      "RFS_PARAMETER_CONFLICT",
      "template_body and template_uri are both given; give one of them",
    );
  }
  if (body !== undefined) {
    const isJson = body.trimStart().startsWith("{");
    return { fileName: isJson ? "main.tf.json" : "main.tf", content: Buffer.from(body) };
  }
  if (uri === undefined) return undefined;
  const { url, ending } = readUri("template_uri", uri, [".tf.json", ".tf", ".zip"]);
  const isArchive = ending === ".zip";
  const content = await port.read(url, isArchive ? MAX_ARCHIVE_BYTES : MAX_TEXT_BYTES, signal);
  return { fileName: isArchive ? "template.zip" : `main${ending}`, content };
}

/** The same where one is required. */
export async function requireTemplateFile(
  port: Pick<RfsStacksPort, "read">,
  fields: BodyFields,
  signal: AbortSignal,
): Promise<RfsTemplateFile> {
  const file = await readTemplateFile(port, fields, signal);
  if (file !== undefined) return file;
  throw new RfsStacksError("RFS_PARAMETER_MISSING", "template_body or template_uri is required");
}

/** The files of a template by path. */
export async function templateFiles(
  { fileName, content }: RfsTemplateFile,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Uint8Array>> {
  if (!fileName.endsWith(".zip")) return new Map([[fileName, content]]);
  let files: ReadonlyMap<string, Uint8Array>;
  try {
    const archive = archiveFromBytes(content, "the template");
    files = await readArchive(archive, { limits: TEMPLATE_ARCHIVE_LIMITS, signal });
  } catch (error) {
    if (!ProviderSourceError.is(error)) throw error;
    throw new RfsStacksError("RFS_TEMPLATE_INVALID", error.message, { cause: error });
  }
  if (files.size > MAX_ARCHIVE_FILES) {
    throw new RfsStacksError(
      "RFS_TEMPLATE_INVALID",
      `the archive has ${files.size} files; a template has at most ${MAX_ARCHIVE_FILES}`,
    );
  }
  const values = [...files.keys()].find((path) => /\.tfvars(?:\.json)?$/.test(path));
  if (values !== undefined) {
    throw new RfsStacksError(
      "RFS_TEMPLATE_INVALID",
      `the archive has the file of variables ${JSON.stringify(values)}; give values with vars_body, vars_uri or vars_structure`,
    );
  }
  return files;
}
