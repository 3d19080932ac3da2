// A person at VS Code: types into a note without saving it, asks an agent for a
// change of it, and meets the question in the ways that the stories say. What
// was seen goes to stdout, a JSON line for each story; the Go test judges it.
import fs from 'node:fs'
import { createRequire } from 'node:module'

const { CLIENT_MODULES, CHROMIUM, URL, SEEN, SHOTS } = process.env
const { chromium } = createRequire(CLIENT_MODULES + '/')('playwright-core')
const stories = JSON.parse(process.env.STORIES)

const browser = await chromium.launch({
  executablePath: CHROMIUM,
  headless: true,
  args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run',
    '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost']
})
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
page.setDefaultTimeout(30000)

// shot keeps a picture, where somebody wants to look.
async function shot (name) {
  if (!SHOTS) return
  await page.waitForTimeout(400)
  await page.screenshot({ path: `${SHOTS}/${name}.png` })
}

// command runs a command of the palette by its title.
async function command (title) {
  await page.keyboard.press('F1')
  await page.waitForSelector('.quick-input-widget input')
  await page.keyboard.type(title)
  await page.waitForSelector(`.quick-input-list .monaco-list-row:has-text("${title}")`)
  await page.keyboard.press('Enter')
}

// noted waits for what the extension has noted down.
async function noted (is) {
  for (const end = Date.now() + 30000; Date.now() < end; await page.waitForTimeout(20)) {
    const lines = fs.existsSync(SEEN) ? fs.readFileSync(SEEN, 'utf8').split('\n').filter(Boolean).map((l) => JSON.parse(l)) : []
    const found = lines.find(is)
    if (found) return found
  }
  throw new Error('the extension does not note down ' + is)
}

// buffer is the text of the open note: the lines that the editor shows.
async function buffer () {
  const lines = await page.locator('.editor-instance .view-line').evaluateAll((all) => all
    .map((l) => [parseFloat(l.style.top), l.textContent.replaceAll('\u00a0', ' ')]).sort((a, b) => a[0] - b[0]).map((l) => l[1]))
  return lines.join('\n').replace(/\n$/, '')
}

// becomes waits until the note is something else than it was, which comes of
// what was done before: nothing else tells when a screen is ready.
async function becomes (want) {
  for (const end = Date.now() + 5000; Date.now() < end && await buffer() !== want; await page.waitForTimeout(20));
  return buffer()
}

const question = (tool) => page.locator(`.notification-toast:has-text("wants to run ${tool}")`).first()
const button = (toast, title) => toast.locator('.monaco-button').filter({ hasText: new RegExp(`^${title}$`) }).first()

async function play (s) {
  await page.locator('.editor-instance .view-line').first().click()
  await command('File: Revert File')
  await becomes('milk\neggs')
  await page.locator('.editor-instance .view-line').first().click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.press('Shift+End')
  await page.keyboard.type('oats')
  await becomes('oats\neggs')
  await page.waitForSelector('.tab.dirty')

  await command('Any Client: Ask')
  await page.waitForSelector('.quick-input-widget input')
  await page.keyboard.type(`${s.agent}, ${s.prompt}`)
  const began = Date.now()
  await page.keyboard.press('Enter')
  const toast = question(s.tool)
  await toast.waitFor()
  const shown = Date.now() - began
  const words = toast.locator('.notification-list-item-message')
  const text = await words.innerText()
  let links = await words.locator('a').count()
  const buttons = (await toast.locator('.monaco-button').allInnerTexts()).filter(Boolean)
  await shot(s.name + '-question')
  const ended = () => noted((n) => n.input === s.prompt && n.ended)
  if (s.late) await ended()
  if (s.answer) await button(toast, s.answer).click()
  else {
    await toast.hover()
    await toast.locator('.codicon-notifications-clear').click()
  }
  const end = (await ended()).ended
  await toast.waitFor({ state: 'detached' })
  // What the server does with an answer that came too late, it has done before
  // it answers this.
  await command('Any Client: Settle')
  await noted((n) => n.input === 'settle' && n.after === s.prompt)
  const result = page.locator(`.notification-toast:has-text("${s.agent}: ")`).first()
  await result.waitFor()
  links += await result.locator('.notification-list-item-message a').count()
  await shot(s.name + '-answered')
  const got = { name: s.name, dialogs: [text + '\n' + buttons.join('\n')], ended: end, shown, links }
  got.buffer = await becomes(s.buffer)
  got.dirty = await page.locator('.tab.dirty').count() > 0
  await page.locator('.editor-instance .view-line').first().click()
  await page.keyboard.press('Control+z')
  got.undone = await becomes(s.undone)
  await shot(s.name + '-undone')
  await command('Notifications: Clear All Notifications')
  console.log(JSON.stringify(got))
}

// trust meets the question about the folder that comes with the first run: dismisses it,
// after a look at what it brings, so that nothing of the folder runs; then asks
// for it again, agrees, and has an agent of the folder run.
async function trust () {
  const got = { name: 'trust', asked: [], ended: [] }
  const toast = page.locator('.notification-toast:has-text("Trust ")').first()
  const look = async (name) => {
    await toast.waitFor()
    const words = toast.locator('.notification-list-item-message')
    got.asked.push(await words.innerText() + '\n' + (await toast.locator('.monaco-button').allInnerTexts()).filter(Boolean).join('\n'))
    await shot(name)
  }
  const ask = async (prompt) => {
    await command('Any Client: Ask')
    await page.waitForSelector('.quick-input-widget input')
    await page.keyboard.type('fixer, ' + prompt)
    await page.keyboard.press('Enter')
  }
  const ended = async (prompt) => got.ended.push((await noted((n) => n.input === prompt && n.ended)).ended)
  await ask('before')
  await look('trust-question')
  await button(toast, 'Show what it brings').click()
  await page.waitForSelector('.tab:has-text("trust ")')
  await toast.locator('.monaco-button:has-text("Show what it brings")').waitFor({ state: 'detached' })
  await look('trust-shown')
  await toast.hover()
  await toast.locator('.codicon-notifications-clear').click()
  await toast.waitFor({ state: 'detached' })
  await ended('before')
  await shot('trust-dismissed')
  await command('Notifications: Clear All Notifications')
  await command('Any Client: Trust')
  await look('trust-command')
  await button(toast, 'Trust this folder').click()
  got.ended.push((await noted((n) => n.input === 'trust' && n.ended)).ended)
  await ask('after')
  await ended('after')
  await shot('trust-given')
  console.log(JSON.stringify(got))
}

// author writes an agent file: looks at what is wrong and at a hover, takes a
// fix and a completion, and renames an agent that other files name.
async function author () {
  const got = { name: 'author' }
  const open = async (file) => {
    await page.keyboard.press('Control+p')
    await page.waitForSelector('.quick-input-widget input')
    await page.keyboard.type(file)
    await page.waitForSelector(`.quick-input-list .monaco-list-row:has-text("${file}")`)
    await page.keyboard.press('Enter')
    await page.waitForSelector(`.tab.active:has-text("${file}")`)
  }
  // at puts the cursor behind the first place of some text.
  const at = async (text) => {
    await page.keyboard.press('Control+f')
    await page.waitForSelector('.find-widget.visible textarea')
    await page.keyboard.press('Control+a')
    await page.keyboard.type(text)
    await page.keyboard.press('Enter')
    await page.keyboard.press('Escape')
    await page.keyboard.press('ArrowRight')
  }
  await open('broken.md')
  await page.waitForSelector('.squiggly-error')
  await page.waitForSelector('.codelens-decoration a:has-text("Validate")')
  got.lenses = await page.locator('.codelens-decoration a').allInnerTexts()
  await at('read_fil')
  await command('Show or Focus Hover')
  const hover = page.locator('.monaco-hover:has-text("read_fil")').first()
  await hover.waitFor()
  got.hover = await hover.innerText()
  await shot('author-hover')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+.')
  await page.waitForSelector('.action-widget .monaco-list-row:has-text("read_file")')
  got.fixes = await page.locator('.action-widget .monaco-list-row').allInnerTexts()
  await shot('author-fixes')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.view-line:has-text("[read_file]")')
  await at('to:')
  await page.keyboard.type(' co')
  await page.keyboard.press('Control+Space')
  await page.waitForSelector('.suggest-widget.visible .monaco-list-row:has-text("code-fixer")')
  got.offered = await page.locator('.suggest-widget.visible .monaco-list-row').allInnerTexts()
  await shot('author-completion')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.view-line:has-text("- to: code-fixer")')
  await page.waitForSelector('.squiggly-error', { state: 'detached' })
  await command('File: Save All Files')
  await open('code-fixer.md')
  await at('code-fixer')
  await page.keyboard.press('F2')
  await page.waitForSelector('.rename-box input:focus')
  await page.keyboard.press('Control+a')
  await page.keyboard.type('mender')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.tab:has-text("mender.md")')
  await page.waitForSelector('.view-line:has-text("name: mender")')
  await command('File: Save All Files')
  await page.waitForSelector('.tab.dirty', { state: 'detached' })
  await shot('author-renamed')
  got.problems = await page.locator('.squiggly-error, .squiggly-warning').count()
  console.log(JSON.stringify(got))
}

let failed = false
try {
  await page.goto(URL)
  await page.waitForSelector('.monaco-workbench')
  await noted((n) => n.started)
  if (stories[0].name !== 'author') {
    await page.click('.explorer-folders-view .monaco-list-row:has-text("note.txt")', { clickCount: 2 })
    await page.waitForSelector('.editor-instance .view-line:has-text("eggs")')
  }
  for (const s of stories) await ({ trust, author }[s.name] || play)(s)
} catch (err) {
  failed = true
  console.error(err)
  await page.screenshot({ path: (SHOTS || '/tmp') + '/failed.png' }).catch(() => {})
}
await browser.close()
process.exit(failed ? 1 : 0)
