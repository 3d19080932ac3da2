// The first minutes of somebody who has never heard of agents, in a folder without any:
// the walkthrough, the demo, a key, an agent of their own, its tests.
import fs from 'node:fs'
import { answer, choose, command, enter, idle, inView, open, page, row, say, shot, tell, toast, trust } from './window.mjs'

const { WORK } = process.env
const terminal = (text) => page.waitForFunction((text) => [...document.querySelectorAll('.terminal-wrapper .xterm-rows')]
  .some((rows) => rows.innerText.replaceAll('\u00a0', ' ').includes(text)), text)

await tell({
  async starts () {
    await idle()
    await command('Agents: Focus on Agents View')
    await inView('main').first().waitFor()
  },
  async 'shows the way' () {
    await command('Agents: Get Started')
    await page.waitForSelector('.gettingStartedContainer:has-text("Get Started with Agents")')
    for (const title of ['Set your API key', 'Write an agent', 'Ask it', 'Keep or undo', 'Watch the demo']) {
      await page.locator(`.getting-started-step:has-text("${title}")`).first().click()
      await page.waitForSelector(`.getting-started-step.expanded:has-text("${title}")`)
      await page.waitForTimeout(1000) // its page is a webview
      if (title !== 'Watch the demo') await shot(title.toLowerCase().replaceAll(' ', '-'))
    }
  },
  async 'runs the demo' () {
    await page.locator('.getting-started-step.expanded .monaco-button:has-text("Run the Demo")').first().click()
    await terminal('Allow?')
    await shot('demo-asks')
    for (let asked = 0; asked < 20; await page.waitForTimeout(500)) { // an edit, and commands where there is no sandbox
      const screens = await page.evaluate(() => [...document.querySelectorAll('.terminal-wrapper .xterm-rows')].map((rows) => rows.innerText))
      const words = screens.map((text) => text.replace(/\s+/g, '')) // lines break within words
      if (words.some((text) => text.includes('Bothareremovednow'))) return
      if (words.some((text) => text.endsWith('whynot:'))) {
        asked++
        await page.keyboard.type('y')
        await page.keyboard.press('Enter')
      }
    }
    throw new Error('the demo asks without end')
  },
  async 'says that a key is missing' () {
    await say('@agents @main hello')
    await page.locator('.interactive-response .monaco-button:has-text("Set API Key")').first().waitFor()
    const text = await answer('No key for the Gemini API').innerText()
    if (!text.includes('Agents: Set API Key') || /export|agentls demo/.test(text)) throw new Error('the advice is for a shell: ' + text)
    await page.locator('.interactive-response .monaco-button:has-text("Run the Demo")').first().waitFor()
    return (await page.locator('.interactive-response').last().innerText()).replaceAll('\n', ' ')
  },
  async 'takes a key' () {
    await page.locator('.interactive-response .monaco-button:has-text("Set API Key")').first().click()
    await page.waitForSelector('.quick-input-widget:has-text("Gemini API key") input[type="password"]')
    await page.keyboard.type('test')
    await shot('key')
    await page.keyboard.press('Enter')
    await toast('key is kept').waitFor()
    await idle()
    await say('@agents @main hello')
    await answer('Hello to you').waitFor()
    const user = fs.readdirSync(WORK, { recursive: true }).filter((name) => /settings|\.env/.test(name)).length
    if (user > 0) throw new Error('a key was written to the folder')
  },
  async 'writes an agent' () {
    await command('Agents: New Agent')
    await row('Code review').waitFor()
    await shot('templates')
    await choose('Code review')
    await page.waitForSelector('.quick-input-widget:has-text("its name") input')
    await page.keyboard.press('Control+a')
    await page.keyboard.type('Reader')
    await page.waitForSelector('.quick-input-widget:has-text("lower-case")')
    await shot('name')
    await page.keyboard.press('Control+a')
    await enter('its name', 'reader')
    await choose('This Project')
    await page.waitForSelector('.tab.active:has-text("reader.md")')
    await page.waitForSelector('.codelens-decoration a:has-text("Run")')
    await shot('agent')
    await trust()
    await inView('reader').first().locator('.codicon-hubot').waitFor()
  },
  async 'asks it' () {
    await open('note.txt')
    await page.locator('.editor-instance .view-line').first().click()
    await page.keyboard.press('Control+a')
    await command('Agents: Ask an Agent About the Selection')
    await choose('reader')
    await enter('What should reader do with the selection?', 'is this all')
    await answer('You have two things').waitFor()
  },
  async 'is asked' () {
    await say('@agents @main ask me')
    await row('tea').waitFor()
    await shot('choices')
    await choose('tea')
    await page.waitForSelector('.quick-input-widget:has-text("How much") input')
    await shot('line')
    await page.keyboard.type('two cups')
    await page.keyboard.press('Enter')
    await answer('Tea, two cups').waitFor()
  },
  async 'fills in a form' () {
    fs.writeFileSync(`${WORK}/.gemini/agents/letter.md`, `---
kind: agent
name: letter
model: flash
inputs:
  to: {type: string, description: Who gets the letter, required: true}
  pages: {type: integer, description: How many pages, required: true}
  tone: {type: string, description: The tone of it, enum: [friendly, formal], required: true}
---
You write \${tone} letters of \${pages} pages to \${to}.
`)
    await inView('letter').first().locator('.codicon-eye').first().waitFor()
    await shot('review')
    await command('Agents: Review and Approve')
    await choose('letter')
    await page.waitForSelector('.tab.active:has-text("letter.md")')
    await toast('Approve it').locator('.monaco-button:has-text("Approve")').first().click()
    await inView('letter').first().locator('.codicon-hubot').waitFor()
    const file = `${WORK}/.gemini/agents/letter.md`
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('You write', 'You carefully write'))
    await inView('letter').first().locator('.codicon-eye').first().waitFor()
    await command('Agents: Review and Approve')
    await choose('letter')
    await page.waitForSelector('.tab.active:has-text("letter.md (since you approved it)")')
    await page.waitForSelector('.editor.modified :text("You carefully write")')
    await shot('review-changed')
    await toast('changed since you approved it').locator('.monaco-button:has-text("Approve")').first().click()
    await inView('letter').first().locator('.codicon-hubot').waitFor()
    await say('@agents @letter write it')
    await enter('letter needs to know', 'Ada')
    await page.waitForSelector('.quick-input-widget:has-text("How many pages") input')
    await page.keyboard.type('many')
    await page.waitForSelector('.quick-input-widget:has-text("Enter a number")')
    await shot('form')
    await page.keyboard.press('Control+a')
    await page.keyboard.type('2')
    await page.keyboard.press('Enter')
    await choose('formal')
    await answer('Dear Ada').waitFor()
  },
  async 'tests it' () {
    await command('Testing: Focus on Test Explorer View')
    await page.waitForSelector('.test-explorer .monaco-list-row:has-text("reader.agent-test.yaml")')
    await command('Test: Run All Tests')
    await page.waitForSelector('.test-explorer .monaco-list-row .codicon-testing-failed-icon')
    await page.locator('.test-explorer .monaco-list-row:has-text("reader.agent-test.yaml") .monaco-tl-twistie').first().click()
    await page.waitForSelector('.test-explorer .monaco-list-row:has-text("says it") .codicon-testing-passed-icon')
    await page.locator('.test-explorer .monaco-list-row:has-text("says what is wrong")').first().dblclick()
    await page.waitForSelector('.tab.active:has-text("reader.agent-test.yaml")')
    return (await page.locator('.test-explorer .monaco-list-row').allInnerTexts()).join(' | ').replaceAll('\n', ' ')
  }
})
