//! Answers to questions, as a store with a defect takes them.

use superstep_core::checkpoint::{Answered, Answers, Carried, CheckpointerExt, Loaded, StoreError};
use superstep_core::id::ThreadId;

use super::{Broken, Defect};

impl Broken {
    /// Stores answers as the defect lets it.
    pub(super) async fn reply(&self, answers: Answers) -> Result<Answered, StoreError> {
        match answers {
            Answers::Given { thread, answers } if self.has(Defect::AnswersOneByOne) => {
                for answer in answers {
                    self.inner.answer_all(&thread, vec![answer]).await?;
                }
                self.answered(&thread).await
            }
            Answers::Given { ref thread, .. } => {
                let thread = thread.clone();
                match self.inner.answer(answers).await {
                    Err(StoreError::AlreadyAnswered(_)) if self.has(Defect::AnswersTwice) => {
                        self.answered(&thread).await
                    }
                    Ok(Answered::OnHead { head, .. }) if self.has(Defect::AnswersTellNothing) => {
                        Ok(Answered::OnHead { head, work: Carried::default() })
                    }
                    answered => answered,
                }
            }
            Answers::Overdue { .. } => match self.inner.answer(answers).await? {
                Answered::Expired(mut expired) if self.has(Defect::ExpiresTwice) => {
                    expired.extend(std::mem::take(&mut self.beside().expired));
                    self.beside().expired.clone_from(&expired);
                    Ok(Answered::Expired(expired))
                }
                answered => Ok(answered),
            },
        }
    }

    /// The reply to answers that were stored one by one, or twice.
    async fn answered(&self, thread: &ThreadId) -> Result<Answered, StoreError> {
        let loaded = self.head(thread).await?.expect("it has questions");
        let Loaded { checkpoint, results, failures, asks, effects, .. } = loaded;
        Ok(Answered::OnHead { head: checkpoint.id, work: Carried { results, failures, asks, effects } })
    }
}
