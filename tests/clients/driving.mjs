// What the drivers in JavaScript share: run the cases that the command line names, at once, and print what was seen.

const SECONDS = 270;

/** Run the cases `URL CASE...` of the command line; one that throws is shown as what it threw. */
export async function drive(cases) {
  const [url, ...names] = process.argv.slice(2);
  const seen = await Promise.all(names.map((name) => one(url, cases[name])));
  console.log(JSON.stringify(Object.fromEntries(names.map((name, index) => [name, seen[index]]))));
  process.exit(0); // a connection that a client keeps open keeps Node alive
}

async function one(url, testCase) {
  const limit = new Promise((_, reject) =>
    setTimeout(() => reject(new Error(`no end after ${SECONDS} s`)), SECONDS * 1000),
  );
  try {
    return await Promise.race([testCase(url), limit]);
  } catch (error) {
    return { raised: words(error) };
  }
}

function words(error) {
  const cause = error.cause ? ` (${words(error.cause)})` : "";
  return `${error.name}: ${error.message}${cause}`;
}

/** A tool's result in the words of all drivers. */
export function resultOf(seen) {
  const text = seen.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
  return { text, structured: seen.structuredContent ?? null, isError: seen.isError ?? false };
}
