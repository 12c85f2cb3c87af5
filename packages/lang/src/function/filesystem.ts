import { createHash } from "node:crypto";
import { Type, Value } from "@stackwright/cty";
import type { FunctionWarning, LangFunction, ValueFunction } from "../eval/function.ts";
import type { BundleFiles, FunctionHost } from "../eval/host.ts";
import { decodeUtf8 } from "./base64.ts";
import { baseName, directoryName } from "./bundle-path.ts";
import { globMatcher } from "./glob.ts";
import { expandHome, filePath } from "./machine-path.ts";
import { invalidArgument, text, textParam } from "./parameter.ts";

const path = textParam("path", "the path, relative to the root of the bundle");

function bundleFiles({ files }: FunctionHost): BundleFiles {
  return files ?? invalidArgument("there are no files here: no template bundle is loaded");
}

/** Text of a file of the bundle. */
export function readText(host: FunctionHost, given: string): string {
  const files = bundleFiles(host);
  const where = filePath(files, given);
  const bytes = files.read(where);
  const decoded = decodeUtf8(bytes);
  files.discard?.(bytes);
  return (
    decoded ??
    invalidArgument(
      `contents of ${JSON.stringify(where)} are not valid UTF-8; use the filebase64 function to obtain the Base64 encoded contents`,
      0,
    )
  );
}

function atPath<T>(
  host: FunctionHost,
  given: string,
  use: (files: BundleFiles, where: string) => T,
): T {
  const files = bundleFiles(host);
  return use(files, filePath(files, given));
}

function advice({ adviceOutside }: BundleFiles): string {
  return adviceOutside === undefined ? "" : `; ${adviceOutside}`;
}

function fileFunction(
  name: string,
  description: string,
  call: (path: string, host: FunctionHost, warn: FunctionWarning) => Value,
  returns: Type = Type.string,
): ValueFunction {
  return {
    name,
    category: "filesystem",
    description,
    parameters: [path],
    returns,
    call: (args, _type, host, warn) => call(text(args, 0), host, warn),
  };
}

function fileHash(name: string, algorithm: string, encoding: "hex" | "base64"): ValueFunction {
  const form = encoding === "hex" ? "hexadecimal" : "base64";
  return fileFunction(
    name,
    `The ${algorithm.toUpperCase()} hash of a file, in ${form}.`,
    (given, host) => {
      const files = bundleFiles(host);
      const bytes = files.read(filePath(files, given));
      const hash = createHash(algorithm).update(bytes).digest(encoding);
      files.discard?.(bytes);
      return Value.string(hash);
    },
  );
}

export const FILESYSTEM_FUNCTIONS: readonly LangFunction[] = [
  fileFunction("abspath", "The absolute form of a path.", (given, host) =>
    Value.string(atPath(host, given, (files, where) => files.absolute(where))),
  ),
  fileFunction("basename", "The last part of a path.", (given) => Value.string(baseName(given))),
  fileFunction("dirname", "A path without its last part.", (given) =>
    Value.string(directoryName(given)),
  ),
  fileFunction(
    "pathexpand",
    "The path with the home directory in the place of ~; a bundle has none.",
    (given, host) => Value.string(expandHome(bundleFiles(host), given)),
  ),
  fileFunction("file", "The text of a file.", (given, host) => Value.string(readText(host, given))),
  fileFunction("filebase64", "The bytes of a file in base64.", (given, host) =>
    Value.string(
      atPath(host, given, (files, where) => {
        const bytes = files.read(where);
        const { buffer, byteOffset, byteLength } = bytes;
        const encoded = Buffer.from(buffer, byteOffset, byteLength).toString("base64");
        files.discard?.(bytes);
        return encoded;
      }),
    ),
  ),
  fileFunction(
    "fileexists",
    "Whether there is a regular file.",
    (given, host, warn) =>
      atPath(host, given, (files, where) => {
        const found = files.exists(where);
        if (!found && files.isPartial?.(directoryName(where)) === true) {
          warn(
            `The function "fileexists" gives false for ${JSON.stringify(where)}, which is not among the files that are here, but may exist${advice(files)}.`,
          );
        }
        return Value.bool(found);
      }),
    Type.bool,
  ),
  fileHash("filemd5", "md5", "hex"),
  fileHash("filesha1", "sha1", "hex"),
  fileHash("filesha256", "sha256", "hex"),
  fileHash("filesha512", "sha512", "hex"),
  fileHash("filebase64sha256", "sha256", "base64"),
  fileHash("filebase64sha512", "sha512", "base64"),
  {
    name: "fileset",
    category: "filesystem",
    description: "The paths of the regular files in a folder that match a pattern.",
    parameters: [
      textParam("path", "the folder"),
      textParam("pattern", "the pattern, such as **/*.txt"),
    ],
    returns: Type.set(Type.string),
    call: (args, _type, host, warn) => {
      const pattern = text(args, 1);
      const matches = globMatcher(pattern);
      const found = atPath(host, text(args, 0), (files, where) => {
        const listed = files.list(where, pattern);
        if (files.isPartial?.(where) === true) {
          warn(
            `The function "fileset" gives only the files in ${JSON.stringify(where)} that are here, of which there may be more${advice(files)}.`,
          );
        }
        return listed;
      }).filter(matches);
      return Value.set(
        found.map((item) => Value.string(item)),
        Type.string,
      );
    },
  },
];
