/** Advice for characters that are operators in other languages. */
export const UNSUPPORTED_OPERATORS: Readonly<Record<string, string | undefined>> = {
  "&": 'There are no bitwise operators. For logical AND write "&&".',
  "|": 'There are no bitwise operators. For logical OR write "||".',
  "^": "There are no bitwise operators. For a power call the function pow.",
  "~": 'There are no bitwise operators. For logical NOT write "!".',
};

const CURLY_QUOTE =
  "This is a typographic quote, as word processors and chat programs put in. Strings are enclosed in straight double quotes.";

/** Advice for characters that have no meaning. */
export const INVALID_CHARACTERS: Readonly<Record<string, string | undefined>> = {
  "'": 'Strings are enclosed in double quotes ("), not in single ones.',
  "`": 'Backticks have no meaning here. For text of several lines write a heredoc ("<<EOT").',
  ";": "Semicolons have no meaning here. Arguments and blocks are separated by line endings, items of collections by commas.",
  "\u201c": CURLY_QUOTE,
  "\u201d": CURLY_QUOTE,
  "\u2018": CURLY_QUOTE,
  "\u2019": CURLY_QUOTE,
};

/** Whether the text is what a decoder puts in the place of bytes that are no character. */
export function isLoneSurrogate(text: string): boolean {
  const unit = text.charCodeAt(0);
  return text.length === 1 && (unit === 0xfffd || (unit >= 0xd800 && unit <= 0xdfff));
}
