import { type TSchema, Type } from "typebox";

// What the OpenAPI document says about the operations. Requests are validated and answers are written by these
// schemas; the domain judges once more, for callers that are not HTTP, and what no schema can say.

const text = (description: string, minLength: number, maxLength: number, pattern?: string) =>
  Type.String({ description, minLength, maxLength, ...(pattern === undefined ? {} : { pattern }) });

/** An object without other members. */
function exactly<const Members extends Record<string, TSchema>>(members: Members) {
  return Type.Object(members, { additionalProperties: false });
}

const name = text("name of the provider", 1, 64, "^[0-9a-z](?:[0-9a-z-]*[0-9a-z])?$");
const version = text("semantic version", 5, 128);
const urn = text(
  "URN of the function behind the version, in the same region",
  32,
  256,
  "^urn:fss:.+:[A-Za-z0-9]{3,64}:function:default:[A-Za-z][A-Za-z0-9_-]{0,58}[A-Za-z0-9]:([A-Za-z0-9][A-Za-z0-9_.-]{0,40}|![A-Za-z][A-Za-z0-9_-]{0,61})[A-Za-z0-9]$",
);
const id = text(
  "id of the provider; refused if it is that of another",
  36,
  36,
  "^[a-z0-9]+[a-z0-9-]*$",
);
const description = text("text for human readers", 0, 1024);
const time = Type.String({ description: "UTC with milliseconds", format: "date-time" });
const nullable = <T extends ReturnType<typeof text>>(schema: T) =>
  Type.Union([schema, Type.Null()]);

export const RequestHeaders = Type.Object({
  "client-request-id": text(
    "the client's id of the request",
    36,
    128,
    "^[A-Za-z0-9]+[A-Za-z0-9-]*$",
  ),
});

export const ProviderParams = exactly({ provider_name: name });
export const VersionParams = exactly({ provider_name: name, provider_version: version });
export const IdQuery = exactly({ provider_id: Type.Optional(id) });

const pageMembers = {
  marker: Type.Optional(text("next_marker or previous_marker of an earlier page", 1, 512)),
  limit: Type.Optional(Type.Integer({ minimum: 10, maximum: 1000, default: 1000 })),
  sort_key: Type.Optional(Type.Array(Type.Literal("create_time"))),
  sort_dir: Type.Optional(Type.Array(Type.Union([Type.Literal("asc"), Type.Literal("desc")]))),
};
export const ListQuery = exactly(pageMembers);
export const ListVersionsQuery = exactly({ ...pageMembers, provider_id: Type.Optional(id) });

export const CreateProviderBody = exactly({
  provider_name: name,
  provider_description: Type.Optional(description),
  provider_version: Type.Optional(nullable(version)),
  version_description: Type.Optional(description),
  function_graph_urn: Type.Optional(nullable(urn)),
  provider_agency_urn: Type.Optional(nullable(text("agency by URN", 0, 512))),
  provider_agency_name: Type.Optional(nullable(text("agency by name", 0, 64))),
});

export const UpdateProviderBody = exactly({
  provider_id: Type.Optional(nullable(id)),
  provider_description: Type.Optional(description),
});

export const CreateVersionBody = exactly({
  provider_id: Type.Optional(nullable(id)),
  provider_version: version,
  version_description: Type.Optional(description),
  function_graph_urn: urn,
});

export const CreatedProvider = Type.Object({
  provider_id: id,
  provider_source: Type.String({ description: "huawei.com/private-provider/<name>" }),
});

const providerMembers = {
  provider_id: id,
  provider_name: name,
  provider_description: description,
  provider_source: Type.String(),
  create_time: time,
  update_time: time,
  provider_agency_urn: Type.Optional(Type.String()),
  provider_agency_name: Type.Optional(Type.String()),
};
export const Provider = Type.Object(providerMembers);

const versionMembers = {
  provider_id: id,
  provider_name: name,
  provider_version: version,
  version_description: description,
  function_graph_urn: urn,
  create_time: time,
};
export const VersionItem = Type.Object(versionMembers);
export const Version = Type.Object({ ...versionMembers, provider_source: Type.String() });

const PageInfo = Type.Object({
  current_count: Type.Integer(),
  next_marker: Type.Union([Type.String(), Type.Null()]),
  previous_marker: Type.Union([Type.String(), Type.Null()]),
});
export const ProviderList = Type.Object({ providers: Type.Array(Provider), page_info: PageInfo });
export const VersionList = Type.Object({ versions: Type.Array(VersionItem), page_info: PageInfo });

const ErrorBody = Type.Object({
  error_code: Type.String({ minLength: 11, maxLength: 11 }),
  error_msg: Type.String(),
  encoded_authorization_message: Type.Optional(Type.String()),
  details: Type.Optional(
    Type.Array(Type.Object({ error_code: Type.String(), error_msg: Type.String() })),
  ),
});

/** What each status of an error means. */
const FAILURES: Readonly<Record<number, string>> = {
  400: "the request is not valid",
  401: "the caller could not be authenticated",
  403: "not allowed, or a limit is reached",
  404: "the provider or the version does not exist",
  409: "the name or the version exists already",
  429: "too many requests",
  500: "internal error",
};

/** The answers of an operation: what it gives, and the errors it knows. */
export function answers(
  success: Readonly<Record<number, object>>,
  failures: readonly number[],
): Record<number, object> {
  const errors = [400, 401, 403, ...failures, 429, 500].map((status) => [
    status,
    { ...ErrorBody, description: FAILURES[status] },
  ]);
  return { ...success, ...(Object.fromEntries(errors) as Record<number, object>) };
}

export const EMPTY_BODY = { 204: Type.Null({ description: "done" }) };
