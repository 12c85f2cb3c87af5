import type { RfsTemplate as StoredTemplate } from "@stackwright/proto/stackwright";
import {
  type NewRfsTemplateVersion,
  RfsStacksError,
  type RfsTemplate,
  type TemplatePort,
} from "@stackwright/rfs-stacks";
import { readStored } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { type Place, projectTenancy } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { requireRoom } from "../queue/require-room.ts";
import { idOf, transact } from "../queue/transaction.ts";
import type { RfsParts } from "./rfs-parts.ts";

/** Templates of a project, as on the service. */
const MAX_TEMPLATES = 100;
/** Versions of one. */
const MAX_VERSIONS = 100;

/** The templates of projects. */
export function rfsTemplates(parts: RfsParts): TemplatePort {
  const { storage, blobs } = parts;
  const { rfsTemplate } = SERVER_KINDS;

  const read = async (account: string, project: string, name: string) => {
    const id = idOf(rfsTemplate, templatePlace(account, project, name));
    const found = await readStored(storage, "strong", id);
    return found && decodeRecord(rfsTemplate, found);
  };
  const store = async (
    owner: string,
    { content }: NewRfsTemplateVersion,
    signal: AbortSignal,
  ): Promise<string> => {
    const bytes = async function* () {
      yield content;
    };
    return (await blobs.write(bytes(), { signal, owner })).sha256;
  };

  return {
    find: async ({ account }, project, name) => {
      const found = await read(account, project, name);
      return found && viewOf(name, found);
    },
    list: async ({ account }, project) => {
      const { tenancy } = templatePlace(account, project, "");
      const found = await storage.list("strong", rfsTemplate.type, tenancy, "");
      return found
        .map((resource) => viewOf(resource.id.name, decodeRecord(rfsTemplate, resource)))
        .toSorted((a, b) => b.createdAtMs - a.createdAtMs);
    },
    create: async ({ account }, project, { name, description }, version, signal) => {
      const place = templatePlace(account, project, name);
      const contentSha256 = await store(account, version, signal);
      const id = parts.token();
      return transact(parts, async (tx) => {
        if ((await tx.find(rfsTemplate, place)) !== undefined) return undefined;
        const { tenancy } = place;
        const room = {
          kind: rfsTemplate,
          tenancy,
          most: MAX_TEMPLATES,
          refusal: (text: string) => new RfsStacksError("RFS_LIMIT_REACHED", text),
        };
        const detail = `the project has ${MAX_TEMPLATES} templates; delete one first`;
        await requireRoom(parts, tx, { ...room, detail });
        const at = BigInt(tx.nowMs);
        tx.create(rfsTemplate, place, {
          id,
          description,
          createdAtMs: at,
          updatedAtMs: at,
          lastVersion: 1,
          versions: [versionRecord(1, version, contentSha256, at)],
        });
        return id;
      });
    },
    change: async ({ account }, project, name, description) =>
      transact(parts, async (tx) => {
        const row = await tx.get(rfsTemplate, templatePlace(account, project, name));
        tx.update(row, { description, updatedAtMs: BigInt(tx.nowMs) });
      }),
    remove: async ({ account }, project, name) =>
      transact(parts, async (tx) => {
        tx.remove(await tx.get(rfsTemplate, templatePlace(account, project, name)));
      }),
    addVersion: async ({ account }, project, name, version, signal) => {
      const contentSha256 = await store(account, version, signal);
      return transact(parts, async (tx) => {
        const row = await tx.get(rfsTemplate, templatePlace(account, project, name));
        const { versions, lastVersion } = row.message;
        if (versions.length >= MAX_VERSIONS) {
          throw new RfsStacksError(
            "RFS_LIMIT_REACHED",
            `the template has ${MAX_VERSIONS} versions; delete one first`,
          );
        }
        const number = lastVersion + 1;
        const at = BigInt(tx.nowMs);
        const made = versionRecord(number, version, contentSha256, at);
        tx.update(row, { lastVersion: number, updatedAtMs: at, versions: [...versions, made] });
        return number;
      });
    },
    removeVersion: async ({ account }, project, name, version) =>
      transact(parts, async (tx) => {
        const row = await tx.get(rfsTemplate, templatePlace(account, project, name));
        const versions = row.message.versions.filter(({ number }) => number !== version);
        if (versions.length === 0) {
          throw new ServerError(
            "conflict",
            "it is the only version of the template; delete the template instead",
          );
        }
        tx.update(row, { versions, updatedAtMs: BigInt(tx.nowMs) });
      }),
    templateFile: async ({ account, project, template, version }) => {
      const found = await read(account, project, template);
      const wanted = found?.versions.find(({ number }) => number === version);
      if (wanted === undefined) return undefined;
      const chunks: Uint8Array[] = [];
      for await (const chunk of blobs.read(wanted.contentSha256)) chunks.push(chunk);
      return { fileName: wanted.fileName, content: Buffer.concat(chunks) };
    },
  };
}

function templatePlace(account: string, project: string, name: string): Place {
  return { tenancy: projectTenancy({ account, project }), name };
}

function versionRecord(
  number: number,
  { description, fileName }: NewRfsTemplateVersion,
  contentSha256: string,
  createdAtMs: bigint,
) {
  return { number, description, createdAtMs, contentSha256, fileName };
}

function viewOf(name: string, template: StoredTemplate): RfsTemplate {
  const { id, description, createdAtMs, updatedAtMs, versions } = template;
  return {
    id,
    name,
    description,
    createdAtMs: Number(createdAtMs),
    updatedAtMs: Number(updatedAtMs),
    versions: versions.map((version) => ({
      number: version.number,
      description: version.description,
      createdAtMs: Number(version.createdAtMs),
    })),
  };
}
