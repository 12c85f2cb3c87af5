import type { Scenario } from "./scenario.ts";

/**
 * What is done with providers that others wrote. Every life has a create, a step without a change, an update or a
 * replacement, and an end.
 *
 * @param http URL of a server that answers with a text
 */
export function scenarios(http: string): readonly Scenario[] {
  return [RANDOM, NULL, LOCAL, TLS, TIME, httpScenario(http), ARCHIVE, SCAFFOLDING, LAB];
}

const RANDOM: Scenario = {
  name: "random",
  provider: "random",
  volatile: ["id", "result", "b64_std", "b64_url", "dec", "hex", "bcrypt_hash"],
  steps: [
    {
      resources: {
        "random_integer.number": { min: 1, max: 50_000, seed: "a" },
        "random_pet.name": { length: 2, separator: "_", keepers: { a: "1" } },
        "random_id.hex": {
          byte_length: 4,
          keepers: { n: { $ref: "random_integer.number.result" } },
        },
        "random_password.secret": { length: 20, special: true, override_special: "!_" },
        "random_shuffle.order": { input: ["a", "b", "c"], seed: "x", result_count: 2 },
        "random_uuid.id": {},
      },
    },
    {
      resources: {
        "random_integer.number": { min: 1, max: 50_000, seed: "a" },
        "random_pet.name": { length: 2, separator: "_", keepers: { a: "1" } },
        "random_id.hex": {
          byte_length: 4,
          keepers: { n: { $ref: "random_integer.number.result" } },
        },
        "random_password.secret": { length: 20, special: true, override_special: "!_" },
        "random_shuffle.order": { input: ["a", "b", "c"], seed: "x", result_count: 2 },
        "random_uuid.id": {},
      },
    },
    {
      resources: {
        "random_integer.number": { min: 1, max: 60_000, seed: "a" },
        "random_pet.name": { length: 3, separator: "_", keepers: { a: "2" } },
        "random_id.hex": {
          byte_length: 4,
          keepers: { n: { $ref: "random_integer.number.result" } },
        },
        "random_uuid.id": {},
      },
      taint: ["random_uuid.id"],
    },
  ],
};

const NULL: Scenario = {
  name: "null",
  provider: "null",
  volatile: ["id", "random", "has_computed_default"],
  steps: [
    {
      resources: {
        "null_resource.a": { triggers: { a: "1" } },
        "null_resource.b": { triggers: { a: { $ref: "null_resource.a.id" } } },
      },
      data: { "null_data_source.values": { inputs: { x: "y" } } },
    },
    {
      resources: {
        "null_resource.a": { triggers: { a: "2" } },
        "null_resource.b": { triggers: { a: { $ref: "null_resource.a.id" } } },
      },
    },
    { resources: { "null_resource.a": { triggers: { a: "2" } } }, taint: ["null_resource.a"] },
  ],
};

const LOCAL: Scenario = {
  name: "local",
  provider: "local",
  steps: [
    {
      files: { "given.txt": "given" },
      resources: {
        "local_file.a": { filename: "out/a.txt", content: "one\n" },
        "local_sensitive_file.b": {
          filename: "out/b.txt",
          content: "secret",
          file_permission: "0600",
        },
      },
      data: { "local_file.given": { filename: "given.txt" } },
    },
    {
      // Somebody removed one file and wrote into the other: both are seen as gone.
      files: { "out/a.txt": null, "out/b.txt": "changed" },
      resources: {
        "local_file.a": { filename: "out/a.txt", content: "one\n" },
        "local_sensitive_file.b": {
          filename: "out/b.txt",
          content: "secret",
          file_permission: "0600",
        },
      },
    },
    { resources: { "local_file.a": { filename: "out/a.txt", content: "two\n" } } },
    { resources: {} },
  ],
};

const KEY_ATTRIBUTES = [
  "id",
  "private_key_pem",
  "private_key_openssh",
  "private_key_pem_pkcs8",
  "public_key_pem",
  "public_key_openssh",
  "public_key_fingerprint_md5",
  "public_key_fingerprint_sha256",
  "cert_pem",
  "cert_request_pem",
  "key_algorithm",
  "validity_start_time",
  "validity_end_time",
];

const TLS: Scenario = {
  name: "tls",
  provider: "tls",
  volatile: KEY_ATTRIBUTES,
  steps: [
    {
      resources: {
        "tls_private_key.key": { algorithm: "ECDSA", ecdsa_curve: "P256" },
        "tls_self_signed_cert.cert": {
          private_key_pem: { $ref: "tls_private_key.key.private_key_pem" },
          validity_period_hours: 12,
          early_renewal_hours: 1,
          allowed_uses: ["key_encipherment", "server_auth"],
          dns_names: ["example.com"],
          subject: [{ common_name: "example.com", organization: "Example" }],
        },
      },
    },
    {
      resources: {
        "tls_private_key.key": { algorithm: "ECDSA", ecdsa_curve: "P256" },
        "tls_self_signed_cert.cert": {
          private_key_pem: { $ref: "tls_private_key.key.private_key_pem" },
          validity_period_hours: 24,
          early_renewal_hours: 2,
          allowed_uses: ["key_encipherment", "server_auth"],
          dns_names: ["example.com"],
          subject: [{ common_name: "example.com", organization: "Example" }],
        },
      },
    },
  ],
};

const TIME: Scenario = {
  name: "time",
  provider: "time",
  steps: [
    {
      resources: {
        "time_static.at": { rfc3339: "2024-02-29T12:34:56Z" },
        "time_offset.later": {
          base_rfc3339: { $ref: "time_static.at.rfc3339" },
          offset_days: 1,
        },
      },
    },
    {
      resources: {
        "time_static.at": { rfc3339: "2024-02-29T12:34:56Z" },
        "time_offset.later": {
          base_rfc3339: { $ref: "time_static.at.rfc3339" },
          offset_hours: 5,
        },
      },
    },
    {
      resources: { "time_static.at": { rfc3339: "2025-01-01T00:00:00Z" } },
    },
  ],
};

function httpScenario(url: string): Scenario {
  return {
    name: "http",
    provider: "http",
    volatile: ["id", "response_headers"],
    steps: [
      {
        resources: {},
        data: { "http.page": { url, request_headers: { Accept: "text/plain" } } },
      },
    ],
  };
}

const ARCHIVE: Scenario = {
  name: "archive",
  provider: "archive",
  volatile: ["output_size", "output_sha", "output_md5", "output_base64sha256", "id"],
  steps: [
    {
      resources: {},
      data: {
        "archive_file.zip": {
          type: "zip",
          output_path: "out.zip",
          source: [
            { filename: "a.txt", content: "one" },
            { filename: "b.txt", content: "two" },
          ],
        },
      },
    },
  ],
};

/** The provider looks at what arrives and refuses anything else. */
const PRIMITIVE = {
  attr_bool_required: true,
  attr_int_required: 64,
  attr_number_required: 12.3456,
  attr_string_required: "s",
  attr_string_default_overridden: "overridden",
};

const SCAFFOLDING: Scenario = {
  name: "scaffolding",
  provider: "scaffolding",
  prefix: "pfprovider",
  config: { endpoint: "https://example.com" },
  steps: [
    {
      resources: { "pfprovider_primitive.a": PRIMITIVE },
      data: { "pfprovider_config_endpoint.e": {} },
    },
    { resources: { "pfprovider_primitive.a": PRIMITIVE } },
    { resources: {} },
  ],
};

const OBJECT = {
  name: "a",
  size: 3,
  ratio: 0.1,
  tags: { team: "x", env: "y" },
  labels: ["b", "a"],
  network: { cidr: "10.0.0.0/8", secret: "hidden" },
  rules: [{ port: 80 }, { port: 443, protocol: "udp" }],
  peers: [{ host: "h1" }, { host: "h2", port: 1 }],
  members: { ann: { role: "admin" }, bob: { role: "user" } },
  payload: { deep: [1, "two", { three: true }] },
  password: "write-only",
  password_version: 1,
};

const LAB: Scenario = {
  name: "lab",
  provider: "lab",
  config: { directory: "store", token: "secret" },
  volatile: ["id", "handle"],
  steps: [
    {
      resources: {
        "lab_object.a": OBJECT,
        "lab_object.b": {
          name: { $ref: "lab_object.a.id" },
          payload: { $ref: "lab_object.a.revision" },
        },
      },
      data: { "lab_objects.before": { prefix: "a" } },
    },
    {
      resources: {
        "lab_object.a": OBJECT,
        "lab_object.b": {
          name: { $ref: "lab_object.a.id" },
          payload: { $ref: "lab_object.a.revision" },
        },
      },
    },
    {
      resources: {
        "lab_object.a": {
          ...OBJECT,
          size: 4,
          labels: ["c"],
          rules: [{ port: 443 }],
          members: { ann: { role: "user" }, cid: { role: "user" } },
          payload: "text",
          password: "other",
          password_version: 2,
        },
        "lab_object.b": { name: "b" },
      },
    },
    { resources: { "lab_object.b": { name: "b" } }, taint: ["lab_object.b"] },
  ],
};
