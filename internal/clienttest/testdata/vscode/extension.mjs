// A person at VS Code with our extension: goes through the list of the
// specification (14.4) and looks at the screen. What was seen goes to stdout, a
// JSON line for each step; a step that does not see what it wants ends it all.
import fs from 'node:fs'
import { createRequire } from 'node:module'

const { CLIENT_MODULES, CHROMIUM, URL, SHOTS, DIR } = process.env
const { chromium } = createRequire(CLIENT_MODULES + '/')('playwright-core')
const [theme] = JSON.parse(process.env.STORIES)

const browser = await chromium.launch({
  executablePath: CHROMIUM,
  headless: true,
  args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run',
    '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost']
})
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
page.setDefaultTimeout(120000) // the machine may be busy
const outside = new Set()
page.on('request', (r) => { if (/tracker/.test(r.url())) outside.add(r.url()) })

let shots = 0
async function shot (name) {
  if (!SHOTS) return
  await page.waitForTimeout(400)
  await page.screenshot({ path: `${SHOTS}/${theme}-${String(++shots).padStart(2, '0')}-${name}.png` })
}

// step plays a step and tells how long it took and what was seen.
async function step (name, play) {
  const began = Date.now()
  const saw = await play()
  console.log(JSON.stringify({ step: name, saw: saw ?? '', ms: Date.now() - began }))
  await shot(name.replaceAll(' ', '-'))
}

async function command (title) {
  await page.keyboard.press('F1')
  await page.waitForSelector('.quick-input-widget input')
  await page.keyboard.type(title)
  await page.waitForSelector(`.quick-input-list .monaco-list-row:has-text("${title}")`)
  await page.keyboard.press('Enter')
}

async function open (file) {
  await page.keyboard.press('Control+p')
  await page.waitForSelector('.quick-input-widget input')
  await page.keyboard.type(file)
  await page.waitForSelector(`.quick-input-list .monaco-list-row:has-text("${file}")`)
  await page.keyboard.press('Enter')
  await page.waitForSelector(`.tab.active:has-text("${file}")`)
}

// say types a message into the Chat view and sends it; it returns when it was sent.
async function say (text) {
  await command('Chat: Open Chat')
  await page.waitForSelector('.interactive-input-part .monaco-editor.focused')
  await page.keyboard.press('Control+a')
  await page.keyboard.type(text)
  await page.waitForTimeout(500) // the list of participants follows the typing
  await page.keyboard.press('Escape')
  const at = Date.now()
  await page.keyboard.press('Enter')
  return at
}

// find puts the cursor behind the first place of some text.
async function find (text) {
  await page.keyboard.press('Control+f')
  await page.waitForSelector('.find-widget.visible textarea')
  await page.keyboard.press('Control+a')
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
  await page.keyboard.press('Escape')
  await page.keyboard.press('ArrowRight')
}

const answer = (text) => page.locator('.interactive-response', { hasText: text }).last()
const toast = (text) => page.locator(`.notification-toast:has-text("${text}")`).first()
const row = (text) => page.locator(`.quick-input-list .monaco-list-row:has-text("${text}")`).first()
const status = (text) => page.waitForSelector(`.statusbar-item:has-text("${text}")`)

async function choose (text) {
  await row(text).waitFor()
  await row(text).click()
}

const steps = {
  async starts () {
    await page.goto(URL)
    await page.waitForSelector('.monaco-workbench')
    await status('Agents')
    await page.waitForSelector('.statusbar-item:has-text("Agents") .codicon-hubot')
  },
  async 'trusts the folder' () {
    await command('Agents: Focus on Agents View')
    const fixer = page.locator('.part.sidebar .pane-body .monaco-list-row:has-text("fixer")').first()
    await fixer.locator('.codicon-lock').waitFor()
    await fixer.hover()
    await fixer.locator('.action-label[aria-label^="Review"]').click()
    const question = page.locator('.notifications-center .notification-list-item:has-text("Trust ")').first()
    await question.waitFor()
    await shot('trust-question')
    await question.locator('.monaco-button').filter({ hasText: 'Show what it brings' }).first().click()
    await page.waitForSelector('.tab:has-text("trust ")')
    await page.locator('.notification-list-item .monaco-button').filter({ hasText: /^Trust this folder$/ }).first().click()
    await fixer.locator('.codicon-hubot').waitFor()
    return (await page.locator('.part.sidebar .pane-body .monaco-list-row').allInnerTexts()).join(' | ')
  },
  async 'shows a mistake' () {
    await open('broken.md')
    await page.waitForSelector('.squiggly-warning, .squiggly-error')
    await page.waitForSelector('.codelens-decoration a:has-text("Validate")')
  },
  async 'fixes and completes' () {
    await find('read_fil')
    await page.waitForSelector('.codicon-gutter-lightbulb, .codicon-light-bulb, [class*="lightbulb"]') // VS Code knows of the fixes
    await page.keyboard.press('Control+.')
    await page.waitForSelector('.action-widget .monaco-list-row:has-text("read_file")')
    await shot('fixes')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.view-line:has-text("read_file, write_file")')
    await page.waitForSelector('.squiggly-warning, .squiggly-error', { state: 'detached' })
    await find(', bash')
    await page.keyboard.type(', gre')
    await page.keyboard.press('Control+Space')
    await page.waitForSelector('.suggest-widget.visible .monaco-list-row:has-text("grep")')
    await shot('completion')
    const offered = await page.locator('.suggest-widget.visible .monaco-list-row').allInnerTexts()
    await page.keyboard.press('Enter')
    await page.waitForSelector('.view-line:has-text("bash, grep")')
    return offered.join(' | ').replaceAll('\n', ' ')
  },
  async 'renames an agent' () {
    await find('name: broken')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('F2')
    await page.waitForSelector('.rename-box input:focus')
    await page.keyboard.press('Control+a')
    await page.keyboard.type('tidier')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.tab:has-text("tidier.md")')
    await page.waitForSelector('.view-line:has-text("name: tidier")')
    await command('File: Save All Files')
    await page.waitForSelector('.tab.dirty', { state: 'detached' })
    await open('finder.md')
    await page.waitForSelector('.view-line:has-text("to: tidier")')
    for (const name of ['tidier', 'finder']) { // it stays approved
      await page.locator(`.part.sidebar .pane-body .monaco-list-row:has-text("${name}") .codicon-hubot`).first().waitFor()
    }
  },
  async 'has activated' () {
    await command('Developer: Show Running Extensions')
    const extension = page.locator('.extension', { has: page.locator('.name', { hasText: /^Agents$/ }) }).first()
    await page.locator('.extension').first().hover()
    for (let tries = 0; await extension.count() === 0 && tries < 20; tries++) { // the list has what is on the screen
      await page.mouse.wheel(0, 300)
      await page.waitForTimeout(200)
    }
    const said = (await extension.innerText()).replaceAll('\n', ' ')
    await page.keyboard.press('Escape')
    return said
  },
  async 'streams in chat' () {
    await open('note.txt')
    const at = await say('@agents @fixer tell me a story')
    await page.waitForSelector('.interactive-response:has-text("Once upon a time")')
    const first = Date.now() - at
    await page.waitForSelector('.interactive-response:has-text("And then there were")')
    const a = answer('Once upon a time')
    if (await a.locator('.rendered-markdown img').count() > 0) throw new Error('an image of the answer is shown')
    if (await a.locator('a[data-href^="command:"]').count() > 0) throw new Error('a link of the answer runs a command')
    if (outside.size > 0) throw new Error('the answer made a request: ' + [...outside])
    return `first text ${first} ms after Enter: ${(await a.innerText()).replaceAll('\n', ' ')}`
  },
  async 'asks and is refused' () {
    await say('@agents run a command')
    await toast('wants to run bash').waitFor()
    await status('waiting for you')
    const whole = await page.locator('.editor-instance .view-lines').first().innerText()
    await shot('question-command')
    await page.keyboard.press('Control+Alt+a')
    await row('Reject, and say why').waitFor()
    const offered = await page.locator('.quick-input-list .monaco-list-row').allInnerTexts()
    await shot('question-answers')
    await choose('Reject, and say why')
    await page.waitForSelector('.quick-input-widget input')
    await page.keyboard.type('leave files alone')
    await page.keyboard.press('Enter')
    await answer('You said no').waitFor()
    return [whole, ...offered].join(' | ').replaceAll('\n', ' ')
  },
  async 'shows a change' () {
    await say('@agents buy oats')
    await toast('wants to run edit_file').waitFor()
    await page.waitForSelector('.monaco-diff-editor .view-line:has-text("oat milk")')
  },
  async 'accepts it after an edit' () {
    await page.locator('.monaco-diff-editor .editor.modified .view-line:has-text("oat milk")').click()
    await page.keyboard.press('End')
    await page.keyboard.type(', unsweetened')
    await page.locator('.editor-actions a[aria-label^="Allow Once"]').first().click()
    await answer('on the list now').waitFor()
    await open('note.txt')
    await page.waitForSelector('.view-line:has-text("unsweetened")')
  },
  async 'shows what changed' () {
    await command('Agents: Focus on Changes View')
    await page.waitForSelector('.part.sidebar .pane-body .monaco-list-row:has-text("note.txt")')
    const shown = page.locator('.tab.active:has-text("before the agents")')
    for (let tries = 0; await shown.count() === 0 && tries < 30; tries++) { // a click is lost while the tree is drawn anew
      await page.locator('.part.sidebar .pane-body .monaco-list-row:has-text("note.txt")').last().click()
      await page.waitForTimeout(1000)
    }
    await shown.waitFor()
  },
  async 'undoes it' () {
    const r = page.locator('.part.sidebar .pane-body .monaco-list-row:has-text("note.txt")').last()
    await r.hover()
    await r.locator('.codicon-discard').click()
    await open('note.txt')
    await page.waitForSelector('.view-line:has-text("milk")')
    await page.waitForSelector('.view-line:has-text("oat milk")', { state: 'detached' })
  },
  async 'has a type error fixed' () {
    await open('app.ts')
    await page.locator('.editor-instance .view-line:has-text("return a - b")').first().click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('const label: string = sum(1, 2)\n')
    await page.waitForSelector('.squiggly-error')
    await shot('type-error')
    await say('@agents repair the types')
    await toast('wants to run edit_file').waitFor()
    await page.locator('.editor-actions a[aria-label^="Allow Once"]').first().click()
    await answer('The types fit now').waitFor()
    await open('app.ts')
    await page.waitForSelector('.view-line:has-text("label: number")')
    await page.waitForSelector('.squiggly-error', { state: 'detached' })
    await page.waitForSelector('.tab.active.dirty') // it was never saved
  },
  async 'cancels' () {
    await say('@agents take forever')
    await answer('I begin').waitFor()
    await status('1 running')
    await shot('running')
    await page.locator('.interactive-input-part .codicon-stop-circle, .interactive-input-part a[aria-label^="Cancel"]').first().click()
    await page.waitForSelector('.statusbar-item:has-text("Agents") .codicon-hubot')
  },
  async 'follows a handoff' () {
    await say('@agents @finder the list is wrong')
    await answer('The list is right now').waitFor()
    // The Chat view folds what an agent said before its tools into its steps.
    const text = (await answer('The list is right now').innerText()).replaceAll('\n', ' ')
    const order = ['finder → fixer', 'the note has to be edited', 'The list is right now'].map((part) => text.indexOf(part))
    if (order.some((at, i) => at < 0 || at < order[i - 1])) throw new Error('a handoff is not shown in its order: ' + text)
    return text
  },
  async 'answers at once' () {
    const took = []
    for (let i = 1; i <= 5; i++) {
      const at = await say(`@agents greet ${i}`)
      await page.waitForSelector(`.interactive-response:has-text("Good day ${i}")`)
      took.push(Date.now() - at)
    }
    return 'first text, ms after Enter: ' + took.join(' ')
  },
  async 'opens a session' () {
    await command('Agents: Focus on Sessions View')
    const r = page.locator('.part.sidebar .pane-body .monaco-list-row:has-text("story")').first()
    await r.waitFor()
    await r.click()
    const frame = page.frameLocator('iframe.webview.ready').frameLocator('#active-frame')
    await frame.locator('.entry.text').first().waitFor()
    await frame.locator('.entry.tool').first().waitFor()
    return (await frame.locator('#timeline').innerText()).replaceAll('\n', ' ').slice(0, 300)
  },
  async 'comes back after a crash' () {
    const pid = fs.readFileSync('/proc/self/stat') && serverPid()
    process.kill(pid, 'SIGKILL')
    for (const end = Date.now() + 20000; ; await page.waitForTimeout(50)) {
      const now = serverPid()
      if (now && now !== pid) break
      if (Date.now() > end) throw new Error('no new server')
    }
    await page.waitForSelector('.statusbar-item:has-text("Agents") .codicon-hubot')
  }
}

// serverPid is the process of the server of this VS Code.
function serverPid () {
  for (const name of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const words = fs.readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
      if (words[0].startsWith(DIR) && words[1] === 'serve') return Number(name)
    } catch {}
  }
}

let failed = false
try {
  for (const [name, play] of Object.entries(steps)) if (!(process.env.SKIP || '').includes(name)) await step(name, play)
} catch (err) {
  failed = true
  console.error(err)
  await page.screenshot({ path: (SHOTS || '/tmp') + `/${theme}-failed.png` }).catch(() => {})
}
await browser.close()
process.exit(failed ? 1 : 0)
