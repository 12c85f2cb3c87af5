import {
  type FieldProblem,
  REGISTRY_ERRORS,
  RegistryError,
  type RegistryErrorCode,
} from "../errors.ts";

/** The report of a failure to a client. */
export interface RfsErrorBody {
  readonly error_code: string;
  readonly error_msg: string;
  readonly encoded_authorization_message?: string;
  readonly details?: readonly { readonly error_code: string; readonly error_msg: string }[];
}

/** A failure as it goes over the wire. */
export interface RfsFailure {
  readonly status: number;
  readonly body: RfsErrorBody;
}

// Codes that the service documents are used for what it uses them for. Where its code is not known, ours
// are from RF.1090xxxx, which it does not use.

const FIELD_CODES: Readonly<Record<FieldProblem, string>> = {
  missing: "RF.10011001",
  unknown: "RF.10011002",
  "too-long": "RF.10011005",
  "too-short": "RF.10011006",
  "not-listed": "RF.10011027",
  incomplete: "RF.10011028",
  contradiction: "RF.10011028",
  "no-body": "RF.10011032",
  "not-json": "RF.10011033",
  "not-integer": "RF.10011036",
  "wrong-type": "RF.10011038",
  duplicate: "RF.10011093",
  "out-of-range": "RF.10900101",
  pattern: "RF.10900102",
};

/** Fields whose patterns have codes of their own. */
const PATTERN_CODES: Readonly<Record<string, string>> = {
  provider_name: "RF.10011166",
  function_graph_urn: "RF.10011167",
  provider_id: "RF.10011009",
  "Client-Request-Id": "RF.10011123",
};

const CODES: Readonly<Partial<Record<RegistryErrorCode, string>>> = {
  REGISTRY_NOTHING_TO_UPDATE: "RF.10011084",
  REGISTRY_ID_MISMATCH: "RF.10900103",
  REGISTRY_REGION_MISMATCH: "RF.10900104",
  REGISTRY_MARKER_INVALID: "RF.10900105",
  REGISTRY_UNAUTHENTICATED: "RF.10012001",
  REGISTRY_FORBIDDEN: "RF.10012507",
  REGISTRY_QUOTA_EXCEEDED: "RF.10900201",
  REGISTRY_VERSIONS_EXIST: "RF.10900202",
  REGISTRY_VERSION_IN_USE: "RF.10900203",
  REGISTRY_PROVIDER_NOT_FOUND: "RF.10900301",
  REGISTRY_VERSION_NOT_FOUND: "RF.10900302",
  REGISTRY_NOT_FOUND: "RF.10900303",
  REGISTRY_PROVIDER_EXISTS: "RF.10900401",
  REGISTRY_VERSION_EXISTS: "RF.10900402",
  REGISTRY_VERSION_RETIRED: "RF.10900403",
  REGISTRY_RATE_LIMITED: "RF.10014001",
};

const INTERNAL = "RF.10010001";

/** Statuses of failures before any operation was reached, with codes of ours. */
const HTTP_CODES: Readonly<Record<number, string>> = {
  404: "RF.10900303",
  405: "RF.10900303",
  413: "RF.10900106",
  415: "RF.10900107",
};

/**
 * Converts a failure to its report. A failure that the client did not cause becomes 500 without any detail; the caller
 * logs it under the request's id.
 */
export function rfsFailure(error: unknown): RfsFailure {
  if (error instanceof RegistryError && error.httpStatus < 500) {
    const status = documentedStatus(error);
    const base = { error_code: codeOf(error), error_msg: error.message };
    if (error.code !== "REGISTRY_FORBIDDEN") return { status, body: base };
    // What was missing, for those who administer keys; nothing in it is secret.
    const needed = JSON.stringify({ needed: error.details.needed ?? [] });
    return {
      status,
      body: {
        ...base,
        encoded_authorization_message: Buffer.from(needed).toString("base64url"),
        details: [base],
      },
    };
  }
  const status = clientStatus(error);
  if (status === undefined) {
    return { status: 500, body: { error_code: INTERNAL, error_msg: "internal error" } };
  }
  const code = HTTP_CODES[status] ?? "RF.10900108";
  return { status, body: { error_code: code, error_msg: httpMessage(status) } };
}

const BY_RFS_CODE: ReadonlyMap<string, RegistryErrorCode> = new Map(
  Object.entries(CODES).map(([code, rfs]) => [rfs, code as RegistryErrorCode]),
);

/**
 * The failure that was reported to a client, by the code of either API; undefined for codes that say nothing more than
 * the status.
 */
export function registryCode(code: string): RegistryErrorCode | undefined {
  const own = code in REGISTRY_ERRORS ? (code as RegistryErrorCode) : BY_RFS_CODE.get(code);
  return own ?? (code.startsWith("RF.10011") ? "REGISTRY_INVALID_FIELD" : undefined);
}

/** The documents know nothing between 429 and 500, so what is ours beyond them stays inside. */
function documentedStatus(error: RegistryError): number {
  return REGISTRY_ERRORS[error.code].httpStatus;
}

function codeOf(error: RegistryError): string {
  if (error.code !== "REGISTRY_INVALID_FIELD") return CODES[error.code] ?? INTERNAL;
  const { field = "", problem = "pattern" } = error.details;
  return (problem === "pattern" ? PATTERN_CODES[field] : undefined) ?? FIELD_CODES[problem];
}

/** Status of an error of the HTTP layer that is the client's doing. */
function clientStatus(error: unknown): number | undefined {
  const status = (error as { statusCode?: unknown }).statusCode;
  return typeof status === "number" && status >= 400 && status < 500 ? status : undefined;
}

function httpMessage(status: number): string {
  switch (status) {
    case 404:
      return "there is no such operation";
    case 413:
      return "the request is too large";
    case 415:
      return "the request body is not JSON";
    default:
      return "the request is not valid HTTP";
  }
}
