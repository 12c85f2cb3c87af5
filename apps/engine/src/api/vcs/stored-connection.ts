import type { VcsConnection } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend } from "@stackwright/storage";
import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { idOf, type StoredRow, type Transaction } from "../../queue/transaction.ts";
import { type ConnectionReference, connectionPlace } from "../../vcs/vcs-places.ts";
import { type ApiParts, checkProjectName, ProjectName } from "../api-parts.ts";
import { ConnectionName } from "./connection-view.ts";

const KIND = SERVER_KINDS.vcsConnection;

export const ConnectionParams = Type.Object({ project: ProjectName, connection: ConnectionName });
/** Where a connection is. */
export const ONE_CONNECTION = "/projects/:project/vcs-connections/:connection";

/** The connection that a request is for, in the account of its caller. */
export function connectionReference(
  { principalOf }: Pick<ApiParts, "principalOf">,
  request: FastifyRequest,
  { project, connection: name }: { readonly project: string; readonly connection: string },
): ConnectionReference {
  checkProjectName(project);
  return { account: principalOf(request).account, project, name };
}

/** A connection as it is stored; `not_found`. */
export async function readConnection(storage: StorageBackend, reference: ConnectionReference) {
  const found = await readStored(storage, "strong", idOf(KIND, connectionPlace(reference)));
  if (found === undefined) throw noConnection(reference);
  return { connection: decodeRecord(KIND, found), generation: found.generation };
}

/** The same in a transaction. */
export async function findConnection(
  tx: Transaction,
  reference: ConnectionReference,
): Promise<StoredRow<VcsConnection>> {
  const row = await tx.find(KIND, connectionPlace(reference));
  if (row === undefined) throw noConnection(reference);
  return row;
}

function noConnection({ name }: ConnectionReference): ServerError {
  return new ServerError("not_found", `there is no connection "${name}"`);
}
