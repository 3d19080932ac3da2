// What agents say, as HTML that can do nothing.
import MarkdownIt from "markdown-it";

const markdown = new MarkdownIt({ html: false, linkify: false, breaks: false });
markdown.disable("image"); // an image is a request to its host: it stays text
markdown.validateLink = (url) => /^https?:\/\//i.test(url.trim());

/** render returns HTML without raw HTML, images and links that run commands. */
export function render(text: string): string {
	return markdown.render(text);
}
