import { RfsStacksError } from "../errors.ts";

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,127}$/;
const PROJECT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9-]{35,127}$/;

/** A name of a stack, an execution plan or a template. The service allows Chinese letters, too, which stacks of this server have not. */
export function checkName(field: string, name: string): string {
  if (NAME.test(name)) return name;
  throw new RfsStacksError(
    "RFS_NAME_INVALID",
    `${field} begins with a letter and has 1 to 128 letters, digits, "_" and "-"`,
  );
}

export function checkProjectId(id: string): string {
  if (PROJECT.test(id)) return id;
  throw new RfsStacksError(
    "RFS_PARAMETER_PATTERN",
    "project_id is the name of a project of this server: letters, digits and hyphens",
  );
}

/** The id that clients give their requests. */
export function checkClientRequestId(value: string | readonly string[] | undefined): void {
  if (value === undefined) {
    throw new RfsStacksError("RFS_PARAMETER_MISSING", "the header Client-Request-Id is required");
  }
  if (typeof value === "string" && REQUEST_ID.test(value)) return;
  throw new RfsStacksError(
    "RFS_REQUEST_ID_INVALID",
    "Client-Request-Id has 36 to 128 letters, digits and hyphens, and begins with a letter or digit",
  );
}
