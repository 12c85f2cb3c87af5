/** Version of the Terraform language that this release implements; given to providers as the version of the engine. */
export const LANGUAGE_VERSION = "1.11.4";

/** Version of OpenTofu whose additions to the language this release implements, as far as it does. */
export const OPENTOFU_VERSION = "1.12.6";
