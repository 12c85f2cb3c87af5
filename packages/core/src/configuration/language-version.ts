/** Version of the Terraform language that this release implements; given to providers as the version of the engine. */
export const LANGUAGE_VERSION = "1.11.4";
