/*
 * What both sides of a launch agree on beforehand. Source: HashiCorp's go-plugin, core protocol 1, and the constants
 * with which Terraform uses it.
 */

/** Version of go-plugin's own handshake. */
export const CORE_PROTOCOL = 1;

/** Versions of the provider protocol that this package speaks. */
export const PLUGIN_PROTOCOLS = [5, 6] as const;

/** Shows a provider that it was started as one, and not by a user. */
export const COOKIE_NAME = "TF_PLUGIN_MAGIC_COOKIE";
export const COOKIE_VALUE = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";

/** Variables by which the two sides of a launch talk. */
export const PLUGIN_VARIABLES = {
  protocolVersions: "PLUGIN_PROTOCOL_VERSIONS",
  minPort: "PLUGIN_MIN_PORT",
  maxPort: "PLUGIN_MAX_PORT",
  clientCertificate: "PLUGIN_CLIENT_CERT",
  multiplex: "PLUGIN_MULTIPLEX_GRPC",
  socketDirectory: "PLUGIN_UNIX_SOCKET_DIR",
  socketGroup: "PLUGIN_UNIX_SOCKET_GROUP",
} as const;

/** The name under which plug-ins report their health. */
export const HEALTH_SERVICE = "plugin";

/** Certificates of both sides are for this name, over a unix socket as well. */
export const TLS_NAME = "localhost";

/** Largest message of a provider, in bytes. */
export const DEFAULT_MAX_MESSAGE_BYTES = 256 * 1024 * 1024;
