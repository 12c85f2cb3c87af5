import { join } from "node:path";
import type { BlobEntry } from "../blob/types.ts";
import { isStorageError } from "../errors.ts";
import type { Resource } from "../resource.ts";
import type { CallOptions } from "../types.ts";
import {
  type BackupFile,
  type BackupManifest,
  BLOBS_FILE,
  RESOURCES_FILE,
  readManifest,
} from "./backup-manifest.ts";
import { BlobFiles } from "./blob-files.ts";
import { parseBlobLine } from "./blob-line.ts";
import { LineReader } from "./line-file.ts";
import { MAX_LINE, parseResourceLine, shownResource } from "./resource-line.ts";

/** Options of {@link verifyBackup}. */
export interface VerifyBackupOptions extends CallOptions {
  /** Receives each damaged record by name, as it is found. */
  readonly onProblem?: (problem: string) => void;
}

/** What a verification has found. */
export interface BackupVerification {
  readonly manifest: BackupManifest;
  /** Damaged records and files. */
  readonly problems: number;
}

/**
 * Reads all of a backup and compares it with its digests. Rejects with `STORAGE_NOT_FOUND` for what is no
 * complete backup, `STORAGE_CORRUPT` when the manifest itself is damaged, and `STORAGE_SCHEMA` for a backup of a
 * newer release.
 */
export async function verifyBackup(
  directory: string,
  { onProblem, signal }: VerifyBackupOptions = {},
): Promise<BackupVerification> {
  const manifest = await readManifest(directory);
  let problems = 0;
  const report = (problem: string): void => {
    problems += 1;
    onProblem?.(problem);
  };
  for await (const _resource of backupResources(directory, manifest, report)) {
    signal?.throwIfAborted();
  }
  for await (const _blob of backupBlobs(directory, manifest, report)) signal?.throwIfAborted();
  return { manifest, problems };
}

/** The intact resources of a backup; the others are reported. */
export async function* backupResources(
  directory: string,
  manifest: BackupManifest,
  report: (problem: string) => void,
): AsyncGenerator<Resource, undefined> {
  const reader = new LineReader(join(directory, RESOURCES_FILE), MAX_LINE);
  let before = "at the beginning";
  for await (const resource of records(reader, RESOURCES_FILE, parseResourceLine, (problem, line) =>
    report(`${problem} (line ${line} of ${RESOURCES_FILE}, ${before})`),
  )) {
    before = `behind ${shownResource(resource)}`;
    yield resource;
  }
  compare(RESOURCES_FILE, reader.file, manifest.resources, report);
}

/** The intact blobs of a backup, their contents included; the others are reported. */
export async function* backupBlobs(
  directory: string,
  manifest: BackupManifest,
  report: (problem: string) => void,
): AsyncGenerator<BlobEntry, undefined> {
  const files = new BlobFiles(directory);
  const reader = new LineReader(join(directory, BLOBS_FILE), MAX_LINE);
  for await (const blob of records(reader, BLOBS_FILE, parseBlobLine, (problem, line) =>
    report(`${problem} (line ${line} of ${BLOBS_FILE})`),
  )) {
    try {
      await files.check(blob.sha256, blob.size);
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CORRUPT")) throw error;
      report(error.message);
      continue;
    }
    yield blob;
  }
  compare(BLOBS_FILE, reader.file, manifest.blobs, report);
}

async function* records<T>(
  reader: LineReader,
  file: string,
  parse: (text: string) => T,
  report: (problem: string, line: number) => void,
): AsyncGenerator<T, undefined> {
  for await (const { number, text } of reader.lines()) {
    let record: T;
    try {
      if (text === undefined) {
        report(`a record of ${file} that is longer than any`, number);
        continue;
      }
      record = parse(text);
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CORRUPT")) throw error;
      report(error.message, number);
      continue;
    }
    yield record;
  }
}

function compare(
  name: string,
  actual: BackupFile,
  expected: BackupFile,
  report: (problem: string) => void,
): void {
  if (actual.count !== expected.count) {
    report(`${name} has ${actual.count} of ${expected.count} lines`);
  } else if (actual.sha256 !== expected.sha256) {
    report(`${name} is not what was written: its digest differs`);
  }
}
